"""MAP-Elites (Mouret and Clune, 2015) and CVT-MAP-Elites (Vassiliades et al., 2017) with iso+line variation.

No gradients and no memory of transitions: elites, two of them drawn for each offspring, and a grid that keeps the best.
The two differ in the shape of the cells only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from qdpg.algorithms.algorithm import (
    Clock,
    Counted,
    Family,
    Footprint,
    Generation,
    arrays_to_tree,
    tree_to_arrays,
    with_prefix,
    without_prefix,
)
from qdpg.errors import UserError
from qdpg.learn.networks import count_parameters, init_mlp, init_population
from qdpg.learn.variation import iso_line
from qdpg.memory.elites import Elites
from qdpg.play.acting import NO_NOISE
from qdpg.play.rollouts import Rollouts
from qdpg.tasks.task import TaskSpec


@dataclass(frozen=True)
class Config:
    """Settings of MAP-Elites.

    Attributes:
        population: Offspring per generation (100 in PGA-ME's and QDax's runs).
        initial_policies: Random policies to start from (PGA-ME: 500).
        hidden: Hidden layers of the policies (QD-PG's Table 3, so that all algorithms train the same networks).
        iso_sigma: Gaussian part of iso+line variation (Vassiliades and Mouret, 2018).
        line_sigma: Directional part (the same).
        cells: Cells per dimension of the grid, or the number of cells of a centroidal Voronoi tessellation.
    """

    population: int = 100
    initial_policies: int = 500
    hidden: tuple[int, ...] = (64, 32)
    iso_sigma: float = 0.01
    line_sigma: float = 0.2
    cells: tuple[int, ...] | int = (5, 5)


def preset(name: str, task: str, algorithm: str = "map-elites") -> Config:
    """The settings of preset `name` for `task`; an unknown task gets those of the ants.

    "paper" has the published variation and 1024 Voronoi cells, or QD-PG's grid. "tuned" has as many cells for both as
    QD-PG's grid, so that their scores can be compared, larger isotropic steps, and fewer ants per generation.
    """
    point = task == "point-maze"
    hidden = (64, 32) if point else (256, 256)
    grid = (5, 5) if point else (7, 7)
    voronoi = algorithm == "cvt-map-elites"
    if name == "paper":
        return Config(hidden=hidden, cells=1024 if voronoi else grid)
    return Config(
        population=100 if point else 20,
        initial_policies=200 if point else 40,
        hidden=hidden,
        iso_sigma=0.05,
        cells=math.prod(grid) if voronoi else grid,
    )


class State(NamedTuple):
    """All that MAP-Elites remembers besides its elites."""

    generation: int
    steps: int


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    policy = 4 * count_parameters(spec.observation_size, *config.hidden, spec.action_size)
    cells = config.cells if isinstance(config.cells, int) else math.prod(config.cells)
    elites = cells * (policy + 4 * spec.descriptor_size + 64)
    most = max(config.population, config.initial_policies)
    episodes = most * spec.horizon * 8 * (spec.descriptor_size + 2)  # rewards and descriptors, twice
    return Footprint(memory=3 * elites + 6 * most * policy + episodes, checkpoint=elites + 4096, replay=0)


class MapElites(Counted):
    """MAP-Elites on a grid or on a tessellation."""

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "map-elites") -> None:
        """Start with no elites.

        Args:
            spec: The task.
            config: Settings.
            seed: What all random draws come from.
            name: "map-elites" or "cvt-map-elites".

        Raises:
            UserError: The settings make no sense.
        """
        if min(config.population, config.initial_policies) < 1:
            raise UserError(f"{name} needs a population and initial_policies of at least 1.")
        if isinstance(config.cells, int) != (name == "cvt-map-elites"):
            raise UserError(
                "cells of map-elites is one number per descriptor, that of cvt-map-elites a single number; "
                f"{config.cells} does not fit {name}."
            )
        self.spec, self.config, self.seed, self.name = spec, config, seed, name
        self.sizes = (spec.observation_size, *config.hidden, spec.action_size)
        self.elites = Elites(spec, init_mlp(jax.random.key(0), self.sizes), config.cells, seed)
        self.replay, self.clock = None, Clock()
        self._state = State(0, 0)

    def ask(self, stop: Callable[[], bool] = lambda: False) -> Generation:
        """Draw random policies at first, then vary elites."""
        config, rng = self.config, np.random.default_rng([self.seed, self.generation])
        if self.generation == 0:
            population = init_population(jax.random.key(self.seed), config.initial_policies, self.sizes)
        else:
            parents, others = (self.elites.sample(rng, config.population) for _ in range(2))
            population = iso_line(parents, others, rng, config.iso_sigma, config.line_sigma)
        seeds = rng.integers(2**31, size=len(population.biases[0]))
        return Generation(population, seeds, NO_NOISE, record=False)

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Offer the policies to the grid."""
        with self.clock.time("memory"):
            status = self.elites.add(generation.population, rollouts, self.generation)
        self._state = State(self.generation + 1, self.steps + rollouts.steps)
        last = rollouts.last_rewards * self.spec.fitness_scale
        return {
            "new_cells": int((status == 2).sum()),
            "improved_cells": int((status == 1).sum()),
            "best_last_reward": last.max(),
            "episodes": {"last_reward": last},
        }

    def state(self) -> dict[str, np.ndarray]:
        """Everything."""
        return {**with_prefix("state", tree_to_arrays(self._state)), **with_prefix("elites/", self.elites.data())}

    def load(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state()` returned."""
        self._state = State(*map(int, arrays_to_tree(without_prefix("state", state), self._state)))
        self.elites.load(without_prefix("elites/", state))


FAMILY = Family(Config, preset, footprint, MapElites)
