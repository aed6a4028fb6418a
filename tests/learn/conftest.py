"""Transitions to learn from."""

import jax
import numpy as np
import pytest

from qdpg.learn.networks import init_population
from qdpg.memory.replay import Replay
from qdpg.play.acting import Noise
from qdpg.play.player import make_player
from qdpg.tasks.point_maze import PointMaze


@pytest.fixture(scope="module")
def replay():
    """Real episodes, some of which end in the goal zone (which stands in the way here)."""
    task = PointMaze(goal=(0.0, -0.75))
    population = init_population(jax.random.key(0), 40, (2, 16, 8, 2))
    rollouts = make_player(task).play(population, np.arange(40), noise=Noise(0.3))
    assert rollouts.terminated.any()
    memory = Replay(10_000, 2, 2, 2)
    memory.insert(rollouts)
    memory.set_novelty(memory.playable_slots(), np.linspace(0, 1, memory.transitions))
    return memory
