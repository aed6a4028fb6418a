"""NS-ES, NSR-ES and NSRA-ES: novelty search with evolution strategies (Conti et al., NeurIPS 2018).

M policies are improved in turn, the more novel ones more often. NS-ES follows novelty alone, NSR-ES novelty and fitness
in equal parts, and NSRA-ES shifts the weight towards fitness while that gets better and towards novelty while it does
not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from qdpg.algorithms.algorithm import Family
from qdpg.algorithms.evolution import EvolutionStrategy
from qdpg.algorithms.evolution_parts import Config as SharedConfig
from qdpg.algorithms.evolution_parts import Start, Step, footprint, proportional, shared_preset
from qdpg.ranges import CountOrNone, NotNegative
from qdpg.tasks.task import TaskSpec

WEIGHTS = {"ns-es": 0.0, "nsr-es": 0.5, "nsra-es": 0.5}  # of fitness; NSRA-ES's is where it starts


@dataclass(frozen=True)
class Config(SharedConfig):
    """Settings of NS-ES and its kin.

    Attributes:
        weight_step: By how much NSRA-ES's weight changes (both papers).
        patience: Generations without improvement after which its weight falls (ME-ES's authors; NS-ES's: 50).
        improvement: Share of the best fitness's size by which it must be exceeded (ME-ES's authors; NS-ES's: 0).
    """

    weight_step: NotNegative = 0.05
    patience: CountOrNone = 20
    improvement: NotNegative = 0.1


def preset(name: str, task: str, algorithm: str = "ns-es") -> Config:
    """The settings of preset `name` for `task`, the same for all three; see `shared_preset`."""
    return Config(**shared_preset(name, task))


class Weight(NamedTuple):
    """NSRA-ES's weight of fitness and what it depends on."""

    value: np.ndarray  # []
    best: np.ndarray  # [], fitness that counted as improvement last
    stagnant: np.ndarray  # [], generations since then, or since the weight last fell

    def adapt(self, fitness: float, config: Config) -> Weight:
        """The weight after a policy of this fitness; the first one always counts as improvement."""
        if np.isneginf(self.best) or fitness > self.best + config.improvement * abs(self.best):
            return Weight(np.minimum(1.0, self.value + config.weight_step), np.asarray(fitness), np.asarray(0))
        if self.stagnant + 1 < config.patience:
            return self._replace(stagnant=self.stagnant + 1)
        return Weight(np.maximum(0.0, self.value - config.weight_step), self.best, np.asarray(0))


class NoveltySearch(EvolutionStrategy):
    """NS-ES, NSR-ES or NSRA-ES."""

    config: Config

    def __init__(self, spec: TaskSpec, config: Config, seed: int, name: str = "ns-es") -> None:
        weight = Weight(np.asarray(WEIGHTS[name]), np.asarray(-np.inf), np.asarray(0))
        super().__init__(spec, config, seed, name, config.parents, weight)

    def _start(self, rng: np.random.Generator) -> Start:
        """One of the M policies, drawn in proportion to its novelty."""
        state = self._state
        novelty = self.visited.novelty(state.behaviours, self.config.novelty, held=True)
        member = int(rng.choice(len(novelty), p=proportional(novelty)))
        return Start(member, state.policies[member], state.optimisers[member], float(state.own.value))

    def _remember(self, step: Step | None, fitness: np.ndarray, discovered: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Adapt NSRA-ES's weight."""
        own = self._state.own
        weight = own.adapt(float(fitness[0]), self.config) if step and self.name == "nsra-es" else own
        used, member = (step.start.weight, step.start.member) if step else ("", "")
        return weight, {"fitness_weight": used, "member": member}


FAMILY = Family(Config, preset, footprint, NoveltySearch)
