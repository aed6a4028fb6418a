"""The elites: a pyribs archive of policies, one per cell of the behaviour space."""

from __future__ import annotations

import jax
import numpy as np
from ribs.archives import ArchiveBase, CVTArchive, GridArchive

from qdpg.errors import UserError
from qdpg.learn.networks import MLP, flatten_population, unflatten_population
from qdpg.play.rollouts import Rollouts
from qdpg.tasks.task import TaskSpec

# What is remembered of each elite besides policy, fitness ("objective") and behaviour ("measures").
_FIELDS = {
    "seed": ((), np.int64),  # reset seed of the episode that earned it its place
    "noise": ((), np.float32),  # standard deviation of the action noise in that episode
    "length": ((), np.int32),
    "episode_return": ((), np.float64),
    "generation": ((), np.int32),
}
SAVED = ("index", "solution", "objective", "measures", *_FIELDS)


class Elites:
    """A MAP-Elites archive of policies of one shape. A policy enters if its cell is empty or it is strictly better."""

    def __init__(
        self,
        spec: TaskSpec,
        template: MLP,
        cells: tuple[int, ...] | int,
        seed: int = 0,
        extra_fields: dict[str, int] | None = None,
    ) -> None:
        """Start empty.

        Args:
            spec: The task whose behaviours are told apart.
            template: One policy (no leading axis) that gives the shapes.
            cells: Cells per dimension of a Cartesian grid, or the number of cells of a centroidal Voronoi tessellation.
            seed: Where the tessellation's centroids come from.
            extra_fields: Names of further numbers to remember of each elite, and how many there are of each.

        Raises:
            UserError: The cells do not fit the behaviours.
        """
        if not isinstance(cells, int) and len(cells) != spec.descriptor_size:
            raise UserError(
                f"{spec.name} has {spec.descriptor_size} descriptors, but cells is {cells}; give one number of "
                "cells for each, as in --set cells=10,10, or a single number for a Voronoi tessellation."
            )
        self.spec, self.template, self.cells = spec, template, cells
        self.extra_fields = extra_fields or {}
        vectors = flatten_population(jax.tree.map(lambda leaf: leaf[None], template))
        common = {
            "solution_dim": vectors.shape[1],
            "ranges": list(zip(spec.descriptor_low, spec.descriptor_high, strict=True)),
            "qd_score_offset": spec.fitness_floor,
            "solution_dtype": np.float32,
            "objective_dtype": np.float64,
            "measures_dtype": np.float32,
            "extra_fields": _FIELDS | {name: ((size,), np.float32) for name, size in self.extra_fields.items()},
        }
        self.archive: ArchiveBase = (
            CVTArchive(centroids=cells, seed=seed, **common)
            if isinstance(cells, int)
            else GridArchive(dims=cells, **common)
        )

    def __len__(self) -> int:
        """Filled cells."""
        return len(self.archive)

    def add(self, population: MLP, rollouts: Rollouts, generation: int, **extra_fields: np.ndarray) -> np.ndarray:
        """Offer N policies with what they did; return [N] int: 0 refused, 1 improved a cell, 2 found a new one.

        What was announced as `extra_fields` is given by name, [N, size] each.
        """
        if not len(rollouts.seeds):
            return np.zeros(0, np.int64)
        result = self.archive.add(
            flatten_population(population),
            rollouts.fitness,
            rollouts.behaviours,
            seed=rollouts.seeds,
            noise=rollouts.noise,
            length=rollouts.lengths,
            episode_return=rollouts.returns,
            generation=np.full(len(rollouts.seeds), generation),
            **extra_fields,
        )
        return result["status"]

    def data(self) -> dict[str, np.ndarray]:
        """All elites in the order of their cells, by field (see `SAVED`, and `extra_fields`)."""
        names = [*SAVED, *self.extra_fields]
        data = self.archive.data(names, return_type="dict")
        order = np.argsort(data["index"], kind="stable")
        return {name: data[name][order] for name in names}

    def reliability(self) -> np.ndarray:
        """How likely each elite, in the order of `data()`, ends in its own cell again; 1 where one episode decides."""
        return np.ones(len(self))

    def state(self) -> dict[str, np.ndarray]:
        """All that is to be remembered, by field."""
        return self.data()

    def load(self, data: dict[str, np.ndarray]) -> None:
        """Hold exactly the elites that `state` returned."""
        self.archive.clear()
        if len(data["index"]):
            fields = {name: data[name] for name in (*_FIELDS, *self.extra_fields)}
            self.archive.add(data["solution"], data["objective"], data["measures"], **fields)

    def draw(
        self, rng: np.random.Generator, number: int, pressure: float = 1.0, scores: np.ndarray | None = None
    ) -> np.ndarray:
        """Draw rows of `data()`, [number], with replacement.

        Args:
            rng: Source of randomness.
            number: How many.
            pressure: Selection pressure p: the elite of rank k·u^p, best first, of k, with u uniform; 1 draws from all
                alike.
            scores: [k] what is best; fitness if not given.
        """
        best_first = np.argsort(-(self.data()["objective"] if scores is None else scores), kind="stable")
        ranks = (len(self) * rng.random(number) ** pressure).astype(int)
        return best_first[np.minimum(ranks, len(self) - 1)]

    def sample(self, rng: np.random.Generator, number: int) -> MLP:
        """Draw policies, all elites alike, with replacement; copies, stacked."""
        return self.policies(self.draw(rng, number))

    def policies(self, rows: np.ndarray) -> MLP:
        """The policies in `rows` of `data()`, stacked."""
        return unflatten_population(self.data()["solution"][rows], self.template)

    @property
    def coverage(self) -> float:
        """Share of cells filled."""
        return len(self) / self.archive.cells

    @property
    def qd_score(self) -> float:
        """Sum over elites of fitness above the task's floor; those below it count nothing."""
        fitness = self.archive.data("objective")[np.argsort(self.archive.data("index"), kind="stable")]
        return float(np.maximum(fitness - self.spec.fitness_floor, 0.0).sum())

    @property
    def best_fitness(self) -> float:
        """Fitness of the best elite; minus infinity when there is none."""
        return float(self.data()["objective"].max(initial=-np.inf))
