"""What the QD score of a task should count from, estimated by random play where nobody said it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from qdpg.learn.networks import init_population
from qdpg.play.acting import Noise
from qdpg.play.player import make_player
from qdpg.tasks.gymnasium import GymnasiumTask
from qdpg.tasks.task import Task

EPISODES = 8  # with random policies, half of them with actions at random besides
HIDDEN = (32,)


def estimate_floor(task: Task) -> float:
    """A fitness that hardly any policy falls below: the worst of a few random episodes, less their range.

    The same whenever it is called. QD scores do not fall below zero for elites that are worse all the same.
    """
    spec = task.spec
    sizes = (spec.observation_size, *HIDDEN, spec.action_size)
    policies = init_population(jax.random.key(0), EPISODES, sizes)
    sigma = np.where(np.arange(EPISODES) % 2, np.float32(1.0), np.float32(0.0))
    fitness = make_player(task).play(policies, np.arange(EPISODES), noise=Noise(sigma), record=False).fitness
    lowest, highest = float(fitness.min()), float(fitness.max())
    floor = lowest - max(highest - lowest, 0.1 * abs(lowest))
    digit = 10.0 ** (math.floor(math.log10(abs(floor))) - 1) if floor else 1.0
    return math.floor(floor / digit) * digit


def with_floor(task: Task, options: dict[str, Any]) -> tuple[Task, dict[str, Any]]:
    """The task and its options with an estimated floor, if it is one that nobody gave a floor."""
    if not isinstance(task, GymnasiumTask) or task.fitness_floor is not None:
        return task, options
    floor = estimate_floor(task)
    return replace(task, fitness_floor=floor), options | {"fitness_floor": floor}
