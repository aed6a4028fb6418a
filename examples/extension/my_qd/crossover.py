"""An emitter and an algorithm of one's own: crossover of layers beside iso+line variation, in one archive."""

from dataclasses import dataclass

import numpy as np

from qdpg.algorithms.archive import ArchiveAlgorithm
from qdpg.emitters.emitter import Emitter, Offspring
from qdpg.emitters.iso_line import IsoLine, IsoLineSettings
from qdpg.emitters.learner import Networks
from qdpg.learn.networks import MLP
from qdpg.ranges import Cells, Count, NotNegative, Widths


class LayerCrossover(Emitter):
    """Offspring that have each layer from one of two elites."""

    def __init__(self, size):
        self.size = size

    def select(self, elites, rng):
        """Draw two elites for each offspring, and for each layer which of them it comes from."""
        first, second = elites.draw(rng, self.size), elites.draw(rng, self.size)
        a, b = elites.policies(first), elites.policies(second)
        weights, biases = list(a.weights), list(a.biases)
        for layer in range(len(weights)):
            swaps = rng.random(self.size) < 0.5
            weights[layer] = np.where(swaps[:, None, None], b.weights[layer], a.weights[layer])
            biases[layer] = np.where(swaps[:, None], b.biases[layer], a.biases[layer])
        return Offspring(MLP(tuple(weights), tuple(biases), a.hidden, a.output), parents=first)

    def emit(self, selected, context):
        """They are ready."""
        return selected


class CrossoverElites(ArchiveAlgorithm):
    """MAP-Elites with crossover."""

    @dataclass(frozen=True)
    class Config:
        """Settings.

        Attributes:
            population: Offspring per generation, half of them by crossover.
            initial_policies: Random policies to start from.
            hidden: Hidden layers of the policies.
            iso_sigma: Gaussian part of iso+line variation.
            line_sigma: Directional part.
            cells: Cells per dimension of the grid.
        """

        population: Count = 40
        initial_policies: Count = 100
        hidden: Widths = (32, 32)
        iso_sigma: NotNegative = 0.05
        line_sigma: NotNegative = 0.2
        cells: Cells = (10, 10)

    def __init__(self, spec, config, seed, name):
        half = config.population // 2
        variation = IsoLine(config.population - half, IsoLineSettings(config.iso_sigma, config.line_sigma))
        emitters = [LayerCrossover(half), variation]
        super().__init__(Networks(spec, config.hidden), config, seed, name, emitters)
