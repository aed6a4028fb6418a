"""Minibatches of descriptor-conditioned critics."""

import jax.numpy as jnp
import numpy as np
import pytest

from qdpg.learn.descriptors import DescriptorMinibatches, similarity
from qdpg.learn.transitions import CONTINUES, REWARD
from qdpg.memory.replay import Replay


@pytest.fixture
def replay():
    """Two transitions of one observation and one action: one reached what was wanted, the other missed it by 0.5."""
    replay = Replay(4, 1 + 2 * 2, 1, 2)
    rows = np.zeros((3, 1 + 4 + 1 + 3), np.float32)
    rows[:, 0] = [10, 20, 30]
    rows[:, 1:3] = [0.5, 0.5]
    rows[:, 3:5] = [[0.5, 0.5], [0.5, 0.0], [0.0, 0.0]]
    rows[:, 5] = [-1, 1, 0]
    rows[:2, REWARD] = 2.0
    rows[:2, CONTINUES] = 1.0
    replay.insert_rows(rows, np.zeros((3, 2), np.float32), np.array([True, True, False]))
    replay.index()
    return replay


def test_a_reward_counts_less_where_another_behaviour_was_wanted(replay):
    minibatches = DescriptorMinibatches(replay.view(), jnp.float32(3.0), 0.25, 2)
    batch = minibatches(jnp.array([1, 2], jnp.uint32), jnp.int32(0), (2, 50), 1)
    hit = np.asarray(batch.pair[..., 0]) == 10
    assert 0 < hit.mean() < 1
    np.testing.assert_allclose(batch.reward, np.where(hit, 6.0, 6.0 * np.exp(-2.0)), rtol=1e-4)
    np.testing.assert_array_equal(batch.pair[..., 1:3], np.where(hit[..., None], [0.5, 0.5], [0.5, 0.0]))
    np.testing.assert_array_equal(batch.pair[..., 3], np.where(hit, -1, 1))
    np.testing.assert_array_equal(batch.following[..., 0], np.where(hit, 20, 30))
    np.testing.assert_array_equal(batch.following[..., 1:], batch.pair[..., 1:3])


def test_actors_that_climb_want_their_own_behaviour(replay):
    wanted = jnp.array([[-1.0, 1.0], [0.25, 0.75]])
    minibatches = DescriptorMinibatches(replay.view(), jnp.float32(1.0), 0.25, 2, wanted=wanted)
    batch = minibatches(jnp.array([1, 2], jnp.uint32), jnp.int32(0), (2, 7), 1)
    np.testing.assert_array_equal(batch.observation[..., 1:], np.repeat(np.asarray(wanted)[:, None], 7, axis=1))


def test_similarity_is_one_only_of_what_is_the_same():
    near = similarity(jnp.zeros(2), jnp.array([0.0, 0.1]), 0.1)
    assert float(near) == pytest.approx(np.exp(-1), rel=1e-4)
    assert float(similarity(jnp.ones(2), jnp.ones(2), 0.1)) == pytest.approx(1.0, abs=1e-4)
