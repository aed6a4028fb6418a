"""Small evolution strategies on a short maze, for several test files."""

from dataclasses import replace

import numpy as np

from qdpg.algorithms.registry import make_algorithm, make_config
from qdpg.play.player import make_player
from qdpg.tasks.point_maze import PointMaze

STRATEGIES = ("ns-es", "nsr-es", "nsra-es", "me-es")
SMALL = {"pairs": 6, "hidden": (8,), "evaluations": 3, "action_noise": 0.1, "cells": (5, 5), "chunk": 1000}
LEARNING = {"initialisation": "normalised", "hidden": (16,), "pairs": 10, "evaluations": 5}
TASK = PointMaze(horizon=40)
PLAYER = make_player(TASK)


def make_strategy(name, seed=3, **settings):
    """A small strategy that has a player; keyword arguments are settings."""
    algorithm = make_algorithm(name, TASK.spec, make_config(name, "tuned", "point-maze", {**SMALL, **settings}), seed)
    algorithm.player = PLAYER
    return algorithm


def evolve(algorithm, generations=1):
    """Advance by some generations; return the last one and what was told."""
    for _ in range(generations):
        generation = algorithm.ask()
        told = algorithm.tell(generation, generation.play(algorithm.player))
    return generation, told


def learn(name, task, steps=80_000, downhill=False, **settings):
    """Train on `task` from policies that hardly move; return the strategy and how many cells were filled when.

    `downhill` turns all steps round, which no user may: the same amount of change, but nothing learned.
    """
    config = make_config(name, "tuned", "point-maze", {**LEARNING, **settings})
    config = replace(config, rate=-config.rate) if downhill else config
    algorithm, filled = make_algorithm(name, task.spec, config, 0), []
    algorithm.player = make_player(task)
    while algorithm.steps < steps:
        evolve(algorithm)
        filled.append(len(algorithm.elites))
    return algorithm, filled


def score_of_best(algorithm):
    """Mean fitness of the best elite over fresh starts."""
    best = algorithm.elites.policies(np.repeat(algorithm.elites.data()["objective"].argmax(), 20))
    return algorithm.player.play(best, np.arange(1000, 1020)).fitness.mean()


def assert_same_state(a, b):
    """Everything that two algorithms remember must be equal bit for bit."""
    first, second = a.state(), b.state()
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
