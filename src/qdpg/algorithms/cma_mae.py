"""sep-CMA-MAE: MAP-Annealing (Fontaine and Nikolaidis, 2023) by evolution strategies that large networks can afford.

A few evolution strategies sample policies. Each moves towards those that pass the threshold of their cell by most, and
thresholds rise slowly, so that a strategy first climbs, and later leaves cells that were visited often. The archive of
elites is an ordinary one beside it. Strategies are separable, as Tjanaka and others (2023) propose for controllers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qdpg.algorithms.algorithm import Family, Footprint, Generation
from qdpg.algorithms.archive import ArchiveAlgorithm, never
from qdpg.algorithms.pieces import count_cells
from qdpg.emitters.evolution_strategy import EvolutionStrategy
from qdpg.emitters.learner import Networks
from qdpg.errors import UserError
from qdpg.learn.networks import count_parameters
from qdpg.memory.annealing import anneal, find_improvements
from qdpg.memory.reevaluated import ArchiveSettings
from qdpg.play.rollouts import Rollouts
from qdpg.ranges import Cells, Count, Positive, Share, Widths
from qdpg.tasks.task import TaskSpec

THRESHOLDS = "thresholds"  # their name among what is learned


@dataclass(frozen=True)
class Config:
    """Settings of CMA-MAE. Defaults are those of its authors for controllers.

    Attributes:
        strategies: Evolution strategies, each with a distribution of its own.
        population: Offspring per generation, of all strategies together.
        hidden: Hidden layers of the policies.
        sigma: Standard deviation of the parameters of policies at the start.
        annealing_rate: α: how far a threshold rises towards the fitness of a policy that passes it. 1: it is always
            that of the elite, as in CMA-ME; 0: it never rises.
        cells: Cells per dimension of the archive, or one number for a centroidal Voronoi tessellation.
        archive: Whether elites must last.
    """

    strategies: Count = 5
    population: Count = 200
    hidden: Widths = (128, 128)
    sigma: Positive = 0.02
    annealing_rate: Share = 0.001
    cells: Cells = (32, 32)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)


def preset(name: str, task: str, algorithm: str = "cma-mae") -> Config:
    """The settings of preset `name` for `task`.

    "paper" is its authors'. "tuned" has the networks and cells of our MAP-Elites on the same task, and fewer ants per
    generation.
    """
    point = task == "point-maze"
    if name == "paper":
        return Config()
    if point:
        return Config(population=100, hidden=(64, 32), cells=(5, 5))
    return Config(strategies=2, population=40, hidden=(256, 256), cells=(7, 7))


def footprint(spec: TaskSpec, config: Config, name: str) -> Footprint:
    """What a run will take, known before anything is allocated."""
    policy = 4 * count_parameters(spec.observation_size, *config.hidden, spec.action_size)
    cells = count_cells(config.cells)
    elites = config.archive.entries_per_cell * cells * (policy + 4 * spec.descriptor_size + 64)
    state = elites + config.strategies * (8 * policy + 64) + 8 * cells + 4096
    episodes = config.population * spec.horizon * 8 * (spec.descriptor_size + 2)  # rewards and descriptors, twice
    return Footprint(memory=3 * state + 10 * config.population * policy + episodes, checkpoint=state, replay=0)


class CMAMAE(ArchiveAlgorithm):
    """CMA-MAE with separable evolution strategies."""

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "cma-mae") -> None:
        """Start with no elites; see `ArchiveAlgorithm` for the arguments."""
        if config.population < 2 * config.strategies:
            raise UserError(
                f"{name} needs two offspring or more of each strategy, but population={config.population} leaves fewer "
                f"for {config.strategies}; enlarge it, or lower strategies."
            )
        networks = Networks(spec, config.hidden)
        shares = [len(share) for share in np.array_split(np.arange(config.population), config.strategies)]
        self.strategies = [
            EvolutionStrategy(f"strategy {i + 1}", size, config.sigma, networks) for i, size in enumerate(shares)
        ]
        super().__init__(networks, config, seed, name, self.strategies)
        thresholds = np.full(count_cells(config.cells), float(spec.fitness_floor))
        self._state = self._state._replace(learners=self._state.learners | {THRESHOLDS: thresholds})

    def ask(self, stop: Callable[[], bool] = never) -> Generation:
        """Sample every strategy, from the first generation on."""
        rng = np.random.default_rng([self.seed, self.generation])
        return self.propose(self.emit(rng, stop), rng)

    def tell(self, generation: Generation, rollouts: Rollouts) -> dict[str, Any]:
        """Offer the policies to the archive, and let strategies learn by how much these passed the thresholds."""
        candidates, _ = generation.split(rollouts)
        makers = generation.makers()[: len(candidates.seeds)]
        own = (makers > 0) & (makers <= len(self.strategies))  # the others were played again
        cells = np.asarray(self.elites.archive.index_of(candidates.behaviours.astype(np.float32)), np.int64)
        thresholds = self._state.learners[THRESHOLDS]
        values = find_improvements(thresholds, cells, candidates.fitness)
        learned = dict(generation.learned)
        learned[THRESHOLDS] = anneal(thresholds, cells[own], candidates.fitness[own], self.config.annealing_rate)
        told = self.keep(generation, rollouts)
        rng = np.random.default_rng([self.seed, self.generation, 1])
        for i, strategy in enumerate(self.strategies):
            assert strategy.learner is not None
            state = learned[strategy.learner]
            learned[strategy.learner] = strategy.learn(state, values[makers == i + 1], self.elites, rng)
        self._state = self._state._replace(learners=learned)
        return told


def find_idle(config: Config) -> dict[str, str]:
    """Settings that do nothing beside the others, and why."""
    return config.archive.find_idle() | {"archive.parents_start": "samples of a strategy have no parents"}


FAMILY = Family(Config, preset, footprint, CMAMAE, find_idle)
