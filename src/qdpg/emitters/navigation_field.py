"""The navigation field emitter: the greedy direction-conditioned policy, sent on known ways to cells of the archive."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from ribs.archives import ArchiveBase, GridArchive

from qdpg.emitters.emitter import Context, Emitter, Offspring
from qdpg.emitters.fields import FIELD, DirectionFields
from qdpg.learn.navigation import join_fields, plan_field
from qdpg.learn.roadmap import BINS, Roadmap
from qdpg.memory.elites import Elites

START = "start"  # extra field of elites: ψ of the state that their episode began in
SEEN = 3.0  # half bins: a place so near to the middle of one that was visited was seen
GOALS = 12  # bins of which the nearest to an unseen target is chosen
EMPTY, EMPTY_LASTING = 0.75, 0.5  # share of targets that are cells without an elite; where elites are to last
SELECTION_PRESSURE = 3.0  # towards empty cells that were seen, or lie near to what was


class Selected(NamedTuple):
    """Where to go."""

    targets: np.ndarray  # [n, D] in z, from -1 to 1
    goals: np.ndarray  # [n] rows of the roadmap: up to where the way is known
    starts: np.ndarray  # [k, D] where episodes of the elites began, in z
    seeds: np.ndarray  # [n] for the hinges of the fields
    roadmap: Roadmap | None  # what is known


class NavigationField(Emitter):
    """Offspring that go to the middle of a cell, on the shortest way that the replay memory knows, and stay there."""

    least = 1

    def __init__(self, name: str, size: int, fields: DirectionFields, roadmap: Callable[[], Roadmap | None]) -> None:
        """Remember whom to send.

        Args:
            name: Of the learner that has the greedy direction-conditioned policy; another emitter trains it.
            size: Offspring per generation.
            fields: How policies follow fields.
            roadmap: What draws the map of what was visited; None while nothing was.
        """
        self.learner, self.size, self.fields, self.roadmap = name, size, fields, roadmap

    def select(self, elites: Elites, rng: np.random.Generator) -> Selected:
        """Draw cells: empty ones, best those that were seen on the way, and filled ones whose elite may not stay."""
        middles, filled, roadmap = self._to_z(find_middles(elites.archive)), elites.data(), self.roadmap()
        starts = self._to_z(filled[START])
        known = self._to_z(filled["measures"]) if roadmap is None else roadmap.places
        empty = np.setdiff1d(np.arange(len(middles)), filled["index"])
        order = rng.permutation(len(empty))
        # Cells whose middle was seen are all alike.
        gaps = np.maximum(_distances(middles[empty[order]], known), SEEN / BINS[middles.shape[1]])
        nearest_first = empty[order[np.argsort(gaps, kind="stable")]]
        ranks = (len(empty) * rng.random(self.size) ** SELECTION_PRESSURE).astype(int)
        cells, share = filled["index"][rng.integers(len(elites), size=self.size)], EMPTY
        doubt = 1.0 - elites.reliability()
        if doubt.any():  # cells whose elite rarely ends there need another
            cells, share = rng.choice(filled["index"], self.size, p=doubt / doubt.sum()), EMPTY_LASTING
        if len(empty):
            cells = np.where(rng.random(self.size) < share, nearest_first[ranks], cells)
        seeds = rng.integers(2**62, size=self.size)
        goals = choose_goals(middles[cells], roadmap, rng)
        return Selected(middles[cells], goals, np.unique(np.round(starts, 2), axis=0), seeds, roadmap)

    def emit(self, selected: Selected, context: Context) -> Offspring | None:
        """Plan a way to each of them, and let the newest greedy policy follow it."""
        roadmap = selected.roadmap
        if roadmap is None or not len(selected.targets):
            return None
        planned = [
            plan_field(roadmap, target, goal, selected.starts, self.fields.units, seed)
            for target, goal, seed in zip(selected.targets, selected.goals, selected.seeds, strict=True)
        ]
        policies = self.fields.navigate(context.learner, join_fields(*planned))
        nothing = np.zeros((len(planned), self.fields.extra_fields()[FIELD]), np.float32)
        return Offspring(policies, np.full(len(planned), -1), self.fields.remember(context.learner, nothing))

    def _to_z(self, places: np.ndarray) -> np.ndarray:
        spec = self.fields.networks.spec
        low, high = np.asarray(spec.descriptor_low), np.asarray(spec.descriptor_high)
        return 2.0 * (places - low) / (high - low) - 1.0


def choose_goals(targets: np.ndarray, roadmap: Roadmap | None, rng: np.random.Generator) -> np.ndarray:
    """Up to which bin to follow the roadmap: that of the target, [n] rows.

    If it was never seen, the nearest of a few that are drawn at random: between the nearest of all and the target there
    may be a wall.
    """
    if roadmap is None:
        return np.zeros(len(targets), int)
    nearest, drawn = roadmap.nearest(targets), rng.integers(len(roadmap.places), size=(len(targets), GOALS))
    gaps = np.linalg.norm(roadmap.places[drawn] - targets[:, None], axis=2)
    others = drawn[np.arange(len(targets)), gaps.argmin(axis=1)]
    seen = np.linalg.norm(roadmap.places[nearest] - targets, axis=1) < SEEN / BINS[targets.shape[1]]
    return np.where(seen, nearest, others)


def find_middles(archive: ArchiveBase) -> np.ndarray:
    """The middle of each cell in the order of their indices, [cells, D]."""
    if not isinstance(archive, GridArchive):
        return np.asarray(archive.centroids, np.float64)
    along = [(np.asarray(ends[:-1]) + np.asarray(ends[1:])) / 2 for ends in archive.boundaries]
    return np.stack([each.ravel() for each in np.meshgrid(*along, indexing="ij")], axis=1)


def _distances(places: np.ndarray, others: np.ndarray) -> np.ndarray:
    """From each place [m, D] to the nearest of the others, [m]."""
    return np.linalg.norm(places[:, None] - others[None], axis=2).min(axis=1, initial=np.inf)
