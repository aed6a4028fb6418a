"""Playing many policies for what their episodes come to, where nobody wants to know how they went.

Policies need not exist: whoever plays them makes those that it is about to play, in the same process or on another
machine. Ten thousand perturbations of one policy are one policy and a rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from qdpg.learn.networks import MLP, take_policies
from qdpg.play.acting import NO_NOISE, Noise
from qdpg.play.player import Player
from qdpg.play.rollouts import Rollouts


class Outcomes(NamedTuple):
    """What n episodes came to; see `Rollouts`."""

    lengths: np.ndarray  # [n] int32
    terminated: np.ndarray  # [n] bool
    fitness: np.ndarray  # [n] float64
    behaviours: np.ndarray  # [n, D] float32

    @property
    def steps(self) -> int:
        """Environment steps played in all."""
        return int(self.lengths.sum())


class Policies(Protocol):
    """Policies that are made when they are needed."""

    def make(self, rows: np.ndarray) -> MLP:
        """Make the policies `rows` [n], stacked; the same ones every time, whatever else is made with them."""
        ...


class Chosen(NamedTuple):
    """Policies of a population, any of them any number of times."""

    population: MLP
    rows: np.ndarray  # [N] int

    def make(self, rows: np.ndarray) -> MLP:
        """See `Policies.make`."""
        return take_policies(self.population, self.rows[rows])


@runtime_checkable
class Judge(Protocol):
    """A player that has a better way to judge than to play a chunk after the other."""

    def judge(self, policies: Policies, seeds: np.ndarray, noise: Noise, chunk: int) -> Iterator[Outcomes]:
        """See `judge`."""
        ...


def judge(
    player: Player, policies: Policies, seeds: np.ndarray, *, noise: Noise = NO_NOISE, chunk: int
) -> Iterator[Outcomes]:
    """Play one episode of each policy; yield what they came to, in order, part by part.

    Args:
        player: Who plays.
        policies: N policies.
        seeds: [N], one reset seed per episode.
        noise: Noise on the actions, the same for all.
        chunk: Episodes that anybody plays at once, at most; results do not depend on it.
    """
    if isinstance(player, Judge):
        yield from player.judge(policies, seeds, noise, chunk)
        return
    for rows in split(len(seeds), chunk):
        yield come_to(player.play(policies.make(rows), seeds[rows], noise=noise, record=False))


def come_to(rollouts: Rollouts) -> Outcomes:
    """What episodes came to."""
    return Outcomes(rollouts.lengths, rollouts.terminated, rollouts.fitness, rollouts.behaviours)


def split(number: int, most: int) -> list[np.ndarray]:
    """Split `number` episodes into parts of `most`, the last one perhaps smaller; indices in order."""
    return [np.arange(first, min(first + most, number)) for first in range(0, number, most)]


def join_outcomes(parts: list[Outcomes]) -> Outcomes:
    """Join outcomes in order."""
    return Outcomes(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
