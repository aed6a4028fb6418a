"""Collections of small linear policies whose behaviours and fitness are made up."""

import numpy as np

from qdpg.runs.collection import Collection
from qdpg.tasks.point_maze import PointMaze


def collection(behaviours, fitness=None, seed=0):
    number = len(behaviours)
    arrays = {
        "behaviour": np.asarray(behaviours, np.float32),
        "fitness": np.zeros(number) if fitness is None else np.asarray(fitness, np.float64),
        "seed": np.arange(number),
        "index": 10 * np.arange(number),
        "noise": np.zeros(number, np.float32),
        "weight_0": np.random.default_rng(seed).normal(size=(number, 2, 2)).astype(np.float32),
        "bias_0": np.random.default_rng(seed + 1).normal(0, 0.5, size=(number, 2)).astype(np.float32),
    }
    policy = {"sizes": [2, 2], "hidden": "relu", "output": "tanh"}
    return Collection(PointMaze().spec, {"noise_correlation": 0.0, "policy": policy}, arrays)


def grid(side):
    """The centres of a grid over point-maze, [side², 2]."""
    axis = (np.arange(side) + 0.5) / side * 2 - 1
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
