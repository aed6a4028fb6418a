"""How QD-PG breeds the steerings of its elites; `learn/steering.py` says what a steering is."""

from __future__ import annotations

import numpy as np

from qdpg.algorithms.qd_pg_settings import Config
from qdpg.learn.networks import MLP, scale_inputs
from qdpg.learn.steering import (
    add_steerings,
    breed_steerings,
    draw_straight,
    find_bearings,
    steer,
    steering_size,
    told_rows,
)
from qdpg.memory.elites import Elites
from qdpg.memory.visited import Visited
from qdpg.tasks.task import TaskSpec

_NEAR = 4  # elites that one has for neighbours: as many as a cell of a grid has sides


class Steerer:
    """Steers the greedy policy for diversity, and elites that stem from it."""

    def __init__(self, spec: TaskSpec, config: Config, scale: np.ndarray) -> None:
        """Find out how places are read off observations.

        Args:
            spec: The task.
            config: Settings.
            scale: What observations are divided by before policies that learn see them.
        """
        self.config, self.scale, self.descriptors = config, scale, spec.descriptor_size
        self.bearings = find_bearings(spec.located, spec.descriptor_low, spec.descriptor_high, scale)

    def fields(self) -> dict[str, int]:
        """What is remembered of each elite, and how many numbers it is: its steering, and how it is told directions."""
        told = {"told": self.descriptors * self.config.hidden[0]} if self.config.heirs else {}
        return {"steering": steering_size(self.descriptors, self.bearings)} | told

    def straight(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """Steerings straight on in random directions, [number, S]."""
        return draw_straight(rng, number, self.descriptors, self.bearings)

    def steer(self, policy: MLP, steerings: np.ndarray) -> MLP:
        """The greedy policy with each of the steerings; for scaled observations, as it is itself."""
        return steer(policy, steerings, self.bearings)

    def inherit(self, elites: Elites, rows: np.ndarray, steerings: np.ndarray) -> MLP:
        """The policies of the elites in `rows`, each with another of the steerings; for scaled observations."""
        data = elites.data()
        told = data["told"][rows].reshape(len(rows), self.descriptors, -1)
        policies = scale_inputs(elites.policies(rows), self.scale)
        return add_steerings(policies, told, steerings - data["steering"][rows], self.bearings)

    def told(self, policy: MLP, number: int) -> np.ndarray:
        """How directions enter the first layer of the greedy policy, `number` times, [number, D·W]."""
        return np.repeat(told_rows(policy, self.descriptors).reshape(1, -1), number, axis=0)

    def draw_heirs(self, elites: Elites, number: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the elites that heirs are changed from, rows: half of them good ones, the others lonely ones."""
        if not number:
            return np.zeros(0, np.int64)
        good = elites.draw(rng, number // 2, self.config.quality_greed)
        return np.concatenate([good, self._draw_lonely(elites, rng, number - len(good))])

    def breed(self, elites: Elites, number: int, rng: np.random.Generator) -> np.ndarray:
        """Changed steerings for the greedy policy, [number, S]."""
        config, stored = self.config, elites.data()["steering"]
        models = stored[self._draw_lonely(elites, rng, number)]
        return breed_steerings(models, rng, config.steering_sigma, config.steering_fresh, self.bearings)

    def breed_heirs(self, elites: Elites, heirs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Changed steerings of the elites in `heirs`, [k, S]."""
        config, stored = self.config, elites.data()["steering"]
        sigmas = config.steering_sigma * 10 ** -rng.uniform(0, config.steering_decades, (len(heirs), 1))
        return breed_steerings(stored[heirs], rng, sigmas, 0.0, self.bearings)

    def _draw_lonely(self, elites: Elites, rng: np.random.Generator, number: int) -> np.ndarray:
        """Draw elites whose steerings are to be changed, rows, best those that end far from their neighbours."""
        data = elites.data()
        others = Visited(self.descriptors, len(elites), threshold=0.0, neighbours=_NEAR)
        others.set(data["measures"])
        loneliness = others.novelty(data["measures"], held=True)
        if "told" in data:  # those who cannot be told anything come last
            loneliness *= data["told"].any(axis=1)
        return elites.draw(rng, number, self.config.steering_greed, loneliness)
