"""ME-ES: MAP-Elites whose variation is an evolution strategy (Colas et al., GECCO 2020).

Ten steps in a row improve one policy, for fitness ("exploit") or for novelty ("explore"), in turns; then another elite
is taken from the grid, a novel one to explore from or a good one to exploit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from qdpg.algorithms.algorithm import Family
from qdpg.algorithms.evolution import EvolutionStrategy
from qdpg.algorithms.evolution_parts import Config as SharedConfig
from qdpg.algorithms.evolution_parts import Start, Step, footprint, proportional, shared_preset
from qdpg.errors import UserError
from qdpg.learn.es import init_optimiser
from qdpg.learn.networks import flatten_population
from qdpg.ranges import Count
from qdpg.tasks.task import TaskSpec

Mode = Literal["explore", "exploit"]
RECENT = 5  # cells discovered last, or most novel, that a start is chosen from
GOOD = 2  # how many of those discovered last may be exploited
UNIFORM = 0.1  # share of a start to explore from that does not depend on novelty
_NONE = -1


@dataclass(frozen=True)
class Config(SharedConfig):
    """Settings of ME-ES.

    Attributes:
        block: Steps in a row from one elite.
        mode: Explore and exploit in turns, or only one of them.
    """

    block: Count = 10
    mode: Literal["explore-exploit", "explore", "exploit"] = "explore-exploit"


def preset(name: str, task: str, algorithm: str = "me-es") -> Config:
    """The settings of preset `name` for `task`; see `shared_preset`."""
    return Config(**shared_preset(name, task))


def mode_of(generation: int, config: Config) -> Mode:
    """What the step of a generation is for; generation 0 only evaluates, and the first block exploits."""
    if config.mode != "explore-exploit":
        return config.mode
    return "exploit" if (generation - 1) // config.block % 2 == 0 else "explore"


class MapElitesES(EvolutionStrategy):
    """ME-ES."""

    config: Config

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "me-es") -> None:
        if config.block < 1:
            raise UserError("me-es needs a block of at least 1 step.")
        super().__init__(
            spec, config, seed, name, 1, np.full(RECENT, _NONE)
        )  # cells, the one discovered last comes last

    def _start(self, rng: np.random.Generator) -> Start:
        """Where the last step ended, or at an elite when a new block begins."""
        state, mode = self._state, mode_of(self.generation, self.config)
        weight = 1.0 if mode == "exploit" else 0.0
        if (self.generation - 1) % self.config.block:
            return Start(0, state.policies[0], state.optimisers[0], weight)
        data = self.elites.data()
        row = self._choose_novel(data, rng) if mode == "explore" else self._choose_good(data, rng)
        policy = flatten_population(self.elites.policies(np.array([row])))[0]
        return Start(0, policy, init_optimiser(policy), weight)

    def _choose_novel(self, data: dict[str, np.ndarray], rng: np.random.Generator) -> int:
        """One of the most novel elites, mostly in proportion to its novelty."""
        novelty = self.visited.novelty(data["measures"], self.config.novelty, held=True)
        most = np.argsort(-novelty, kind="stable")[:RECENT]
        return int(rng.choice(most, p=UNIFORM / len(most) + (1 - UNIFORM) * proportional(novelty[most])))

    def _choose_good(self, data: dict[str, np.ndarray], rng: np.random.Generator) -> int:
        """The best elite half of the time, else one of the better among those of cells discovered last."""
        fitness, exploit_best = data["objective"], rng.random() < 0.5
        if exploit_best or len(fitness) < RECENT:
            return int(fitness.argmax())
        rows = np.flatnonzero(np.isin(data["index"], self._state.own))
        good = rows[np.argsort(-fitness[rows], kind="stable")[:GOOD]]
        return int(rng.choice(good, p=proportional(fitness[good] - self.spec.fitness_floor)))

    def _remember(self, step: Step | None, fitness: np.ndarray, discovered: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Keep the cells discovered last."""
        recent = np.concatenate([self._state.own, discovered])[-RECENT:]
        return recent, {"exploits": step.start.weight if step else ""}


FAMILY = Family(Config, preset, footprint, MapElitesES)
