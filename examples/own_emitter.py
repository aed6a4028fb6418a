"""An emitter of your own: crossover of two elites, beside iso+line variation, in one archive.

    python examples/own_emitter.py

An emitter turns elites into offspring in two steps. `select` makes all random draws; `emit` makes the offspring. This
one draws nothing else, so `emit` has nothing to do. An algorithm is an archive and a list of emitters: it asks each of
them in turn, and plays what they made as one generation.
"""

import numpy as np

from qdpg.algorithms.archive import ArchiveAlgorithm
from qdpg.algorithms.map_elites import Config
from qdpg.emitters.emitter import Emitter, Offspring
from qdpg.emitters.iso_line import IsoLine, IsoLineSettings
from qdpg.emitters.learner import Networks
from qdpg.learn.networks import MLP
from qdpg.play.player import make_player
from qdpg.tasks.point_maze import PointMaze


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


def main(generations=20):
    """Fill an archive on point-maze, and return it."""
    task = PointMaze()
    player = make_player(task)
    config = Config(population=40, initial_policies=40, hidden=(16, 16), cells=(5, 5))
    emitters = [LayerCrossover(20), IsoLine(20, IsoLineSettings(iso_sigma=0.05, line_sigma=0.2))]
    algorithm = ArchiveAlgorithm(Networks(task.spec, config.hidden), config, 0, "crossover-elites", emitters)
    for _ in range(generations):
        generation = algorithm.ask()
        algorithm.tell(generation, generation.play(player))
        elites = algorithm.elites
        print(f"{algorithm.steps:7d} steps: {len(elites):2d} elites, the best has {elites.best_fitness:.1f}")
    return algorithm.elites


if __name__ == "__main__":
    main()
