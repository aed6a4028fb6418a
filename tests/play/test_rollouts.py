"""What is read off episodes."""

import jax
import numpy as np
import pytest

from qdpg.learn.networks import init_population
from qdpg.play.player import make_player
from qdpg.play.rollouts import find_settled
from qdpg.tasks.point_maze import PointMaze


@pytest.mark.parametrize("near", [0.01, 0.1, 0.9])
def test_settled_is_since_when_an_episode_stays_near_its_end(near):
    task = PointMaze(horizon=60)
    policies = init_population(jax.random.key(0), 30, (2, 16, 2))
    rollouts = make_player(task).play(policies, np.arange(30))
    settled = find_settled(rollouts, task.spec, near)
    assert (settled >= 1).all()
    assert (settled <= rollouts.lengths).all()
    for way, since, end in zip(rollouts.descriptors, settled, rollouts.behaviours, strict=True):
        is_near = (np.abs(way - end) <= near * 2).all(axis=-1)  # descriptors go from -1 to 1
        assert is_near[since:].all()
        assert since == 1 or not is_near[since - 1]
