"""An archive of elites that last: they are played again, and stand where their mean behaviour is.

Whoever wins a cell by one episode may have been lucky. Here a cell has a few *entries*, which remember all their
episodes. Elites and those that may be better are played again from fresh starts, up to a limit. The elite of a cell is
the entry that is worth most there with some certainty (see `trials`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qdpg.errors import UserError
from qdpg.learn.networks import MLP, flatten_population, unflatten_population
from qdpg.memory.elites import Elites
from qdpg.memory.trials import PRIOR_EPISODES, PRIOR_HITS, Worth, appraise, mean_over
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Count, NotNegative
from qdpg.tasks.task import TaskSpec

NEW = -1  # the entry of a policy that has none yet
_ONCE = ("seed", "noise", "length", "episode_return", "generation")  # of the first episode


@dataclass(frozen=True)
class ArchiveSettings:
    """Whether elites must last.

    Attributes:
        reevaluations: Episodes per generation that are played again by elites and by those that may be better, as a
            share of the population. They count as environment steps. 0: one episode judges a policy for good.
        depth: Policies that a cell remembers, its elite among them.
        most_episodes: A policy that has played so many is not played again.
        full_after: Offspring per cell of the archive after which there are so many; up to then their number grows in
            proportion to the generations, those of a warm-up included, since a new cell is worth more than certainty
            as long as most are empty. 0: from the start.
        parents_start: Whether policies improved for quality, and iso+line offspring, are judged by an episode from the
            start that their parent was stored for, so that a lucky start does not make an elite unbeatable.
    """

    reevaluations: NotNegative = 0.0
    depth: Count = 2
    most_episodes: Count = 10
    full_after: NotNegative = 0.0
    parents_start: bool = False

    @property
    def entries_per_cell(self) -> int:
        """Policies that a cell remembers at most."""
        return self.depth if self.reevaluations else 1

    def count_reevaluations(self, population: int) -> int:
        """Episodes per generation that are played again.

        Raises:
            UserError: There are to be some, but the share is too small for a single one.
        """
        again = round(self.reevaluations * population)
        if self.reevaluations and not again:
            raise UserError(
                f"archive.reevaluations={self.reevaluations} of a population of {population} is no episode; "
                f"give at least {1 / population:.2g}, or 0."
            )
        return again

    def find_idle(self) -> dict[str, str]:
        """Settings that do nothing beside the others, and why."""
        if self.reevaluations:
            return {}
        return dict.fromkeys(
            ("archive.full_after", "archive.depth", "archive.most_episodes"), "archive.reevaluations is 0"
        )


class ReevaluatedElites(Elites):
    """An archive whose elites are judged by the mean of several episodes."""

    def __init__(
        self,
        spec: TaskSpec,
        template: MLP,
        cells: tuple[int, ...] | int,
        seed: int = 0,
        extra_fields: dict[str, int] | None = None,
        settings: ArchiveSettings = ArchiveSettings(),  # noqa: B008 (frozen)
    ) -> None:
        """Start empty; see `Elites` for the arguments."""
        super().__init__(spec, template, cells, seed, extra_fields)
        self.settings = settings
        width, most = self.archive.solution_dim, settings.most_episodes
        shapes = {
            "solution": ((width,), np.float32),
            "seed": ((), np.int64),
            "noise": ((), np.float32),
            "length": ((), np.int32),
            "episode_return": ((), np.float64),
            "generation": ((), np.int32),
            "episodes": ((), np.int64),
            "trial_seeds": ((most,), np.int64),
            "trial_fitness": ((most,), np.float64),
            "trial_behaviours": ((most, spec.descriptor_size), np.float32),
            **{name: ((size,), np.float32) for name, size in self.extra_fields.items()},
        }
        self._empty = {name: np.zeros((0, *shape), dtype) for name, (shape, dtype) in shapes.items()}
        self._entries = dict(self._empty)
        self._rank()

    def choose(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """Entries that are worth playing again, [at most number]: those that played least often come first."""
        is_open = (self._entries["episodes"] < self.settings.most_episodes) & self._is_rival
        rows = rng.permutation(np.flatnonzero(is_open))
        return rows[np.argsort(self._entries["episodes"][rows], kind="stable")][:number]

    def entry_policies(self, entries: np.ndarray) -> MLP:
        """The policies of these entries, stacked."""
        return unflatten_population(self._entries["solution"][entries], self.template)

    def entry_fields(self, entries: np.ndarray) -> dict[str, np.ndarray]:
        """Their extra fields by name."""
        return {name: self._entries[name][entries] for name in self.extra_fields}

    def add(
        self,
        population: MLP,
        rollouts: Rollouts,
        generation: int,
        entries: np.ndarray | None = None,
        **extra_fields: np.ndarray,
    ) -> np.ndarray:
        """Offer N policies with what they did; return [N] int: 0 refused, 1 leads a cell, 2 leads a new one.

        Args:
            population: The policies.
            rollouts: What they did.
            generation: When.
            entries: [N] which entry each policy is, or `NEW`.
            **extra_fields: What was announced as such, [N, size] each.
        """
        number = len(rollouts.seeds)
        if not number:
            return np.zeros(0, np.int64)
        entries = np.full(number, NEW) if entries is None else entries
        before = set(self._cells[self._is_elite].tolist())
        held = len(self._cells)
        is_new = entries == NEW
        place = np.where(is_new, held + np.cumsum(is_new) - 1, entries)
        size = int(is_new.sum())
        fresh = {name: np.zeros((size, *empty.shape[1:]), empty.dtype) for name, empty in self._empty.items()}
        fresh["solution"][:] = flatten_population(population)[is_new]
        once = {"seed": rollouts.seeds, "noise": rollouts.noise, "length": rollouts.lengths}
        once |= {"episode_return": rollouts.returns, "generation": np.full(number, generation)} | extra_fields
        for name, values in once.items():
            fresh[name][:] = np.asarray(values)[is_new]
        self._entries = {name: np.concatenate([self._entries[name], fresh[name]]) for name in fresh}
        for n, row in enumerate(place):
            count = self._entries["episodes"][row]
            if count < self.settings.most_episodes:
                self._entries["trial_seeds"][row, count] = rollouts.seeds[n]
                self._entries["trial_fitness"][row, count] = rollouts.fitness[n]
                self._entries["trial_behaviours"][row, count] = rollouts.behaviours[n]
                self._entries["episodes"][row] = count + 1
        self._rank()
        leads, cells = self._is_elite[place], self._cells[place]
        status = np.where(leads, np.where([cell in before for cell in cells.tolist()], 1, 2), 0)
        self._forget(self._is_kept)
        return status

    def state(self) -> dict[str, np.ndarray]:
        """All entries, in order, by field."""
        return dict(self._entries)

    def load(self, data: dict[str, np.ndarray]) -> None:
        """Hold exactly the entries that `state` returned."""
        self._entries = {
            name: np.asarray(data[name], empty.dtype).reshape(-1, *empty.shape[1:])
            for name, empty in self._empty.items()
        }
        self._rank()
        self._fill()

    def reliability(self) -> np.ndarray:
        """How likely each elite ends in its own cell again: the share of its episodes, drawn towards what is usual."""
        rows = self._elite_rows()
        episodes = self._entries["episodes"][rows]
        ends = self._index(self._entries["trial_behaviours"][rows].reshape(-1, self.spec.descriptor_size))
        is_hit = ends.reshape(len(rows), -1) == self._cells[rows][:, None]
        hits = (is_hit & (np.arange(is_hit.shape[1]) < episodes[:, None])).sum(axis=1)
        return (hits + PRIOR_EPISODES * PRIOR_HITS) / (episodes + PRIOR_EPISODES)

    def _elite_rows(self) -> np.ndarray:
        rows = np.flatnonzero(self._is_elite)
        return rows[np.argsort(self._cells[rows], kind="stable")]

    def data(self) -> dict[str, np.ndarray]:
        """All elites in the order of their cells, by field: besides those of `Elites.data`, their episodes."""
        rows = self._elite_rows()
        held = {name: values[rows] for name, values in self._entries.items()}
        held |= {"index": self._cells[rows], "objective": self._fitness[rows], "measures": self._places[rows]}
        return held

    def _rank(self) -> None:
        """Find the cell of every entry, the elite of every cell, its rivals, and who is to be kept."""
        entries, episodes = self._entries, self._entries["episodes"]
        number = len(episodes)
        if not number:
            self._fitness, self._places = np.zeros(0), np.zeros((0, self.spec.descriptor_size), np.float32)
            self._cells = np.zeros(0, np.int64)
            self._is_elite = self._is_rival = self._is_kept = np.zeros(0, bool)
            return
        self._fitness = mean_over(entries["trial_fitness"], episodes)
        self._places = mean_over(entries["trial_behaviours"], episodes).astype(np.float32)
        self._cells = self._index(self._places)
        ends = self._index(entries["trial_behaviours"].reshape(-1, self.spec.descriptor_size)).reshape(number, -1)
        worth = appraise(entries["trial_fitness"], ends == self._cells[:, None], episodes)
        self._is_elite, self._is_rival, self._is_kept = rank_in_cells(self._cells, worth, self.settings.depth)

    def _index(self, places: np.ndarray) -> np.ndarray:
        return np.asarray(self.archive.index_of(places), np.int64)

    def _forget(self, kept: np.ndarray) -> None:
        self._entries = {name: values[kept] for name, values in self._entries.items()}
        self._fitness, self._places, self._cells = self._fitness[kept], self._places[kept], self._cells[kept]
        self._is_elite, self._is_rival = self._is_elite[kept], self._is_rival[kept]
        self._is_kept = np.ones(int(kept.sum()), bool)
        self._fill()

    def _fill(self) -> None:
        """Let the pyribs archive hold the elites."""
        data = self.data()
        self.archive.clear()
        if len(data["index"]):
            fields = {name: data[name] for name in (*_ONCE, *self.extra_fields)}
            self.archive.add(data["solution"], data["objective"], data["measures"], **fields)


def rank_in_cells(cells: np.ndarray, worth: Worth, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tell who leads each cell, who leads or may do so, and who is among the `depth` of a cell to be kept, [P] bool.

    A cell keeps its elite, and of the others those that may turn out to be worth most.
    """
    order = np.lexsort((-worth.low, cells))
    is_elite = np.zeros(len(cells), bool)
    is_elite[order[np.r_[True, cells[order][1:] != cells[order][:-1]]]] = True
    bar = np.zeros(cells.max() + 1)
    bar[cells[is_elite]] = worth.low[is_elite]
    is_rival = is_elite | (worth.high > bar[cells])
    order = np.lexsort((-worth.high, ~is_elite, cells))
    sorted_cells = cells[order]
    first = np.flatnonzero(np.r_[True, sorted_cells[1:] != sorted_cells[:-1]])
    rank = np.arange(len(cells)) - np.repeat(first, np.diff(np.r_[first, len(cells)]))
    is_kept = np.zeros(len(cells), bool)
    is_kept[order] = rank < depth
    return is_elite, is_rival, is_kept & is_rival
