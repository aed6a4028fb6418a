"""Episodes that are to be played: `emitters/episodes.py`."""

import jax
import numpy as np
import pytest

from qdpg.emitters.episodes import join_episodes, make_episodes, roll_in
from qdpg.learn.networks import flatten_population, init_population


def policies(number, seed=0):
    return init_population(jax.random.key(seed), number, (2, 4, 2))


def test_episodes_last_from_the_start_to_the_end_unless_said_otherwise():
    episodes = make_episodes(policies(3), np.array([5, 6, 7]))
    assert len(episodes) == 3
    assert episodes.guides is None
    for nothing in (episodes.sigma, episodes.roll_in_steps, episodes.limits):
        assert nothing.tolist() == [0, 0, 0]


@pytest.mark.parametrize("sigma", [0.25, np.full(3, 0.25), np.full((3, 2), 0.25)])
def test_noise_may_be_the_same_for_all_or_each_ones_own(sigma):
    episodes = make_episodes(policies(3), np.arange(3), sigma)
    assert episodes.sigma.shape == np.shape(sigma) or episodes.sigma.shape == (3,)
    assert (episodes.sigma == 0.25).all()
    assert episodes.sigma.dtype == np.float32


def test_a_guide_acts_for_a_part_of_its_own_episode_and_then_the_policy_for_a_fixed_time():
    lengths = np.array([1, 4, 400] * 100)
    episodes = make_episodes(policies(300), np.arange(300))
    guided = roll_in(episodes, policies(300, 1), lengths, 7, np.random.default_rng(0))
    assert (guided.roll_in_steps >= 1).all()
    assert (guided.roll_in_steps <= lengths).all()
    np.testing.assert_array_equal(guided.limits, guided.roll_in_steps + 7)
    assert set(guided.roll_in_steps[lengths == 4]) == {1, 2, 3, 4}
    assert guided.roll_in_steps[lengths == 400].max() > 300


def test_joined_episodes_keep_their_order_and_their_guides():
    plain = make_episodes(policies(2), np.array([1, 2]), 0.5)
    guided = roll_in(
        make_episodes(policies(1, 1), np.array([3])), policies(1, 2), np.array([9]), 4, np.random.default_rng(0)
    )
    joined = join_episodes(plain, guided, plain)
    assert joined.seeds.tolist() == [1, 2, 3, 1, 2]
    assert joined.sigma.tolist() == [0.5, 0.5, 0.0, 0.5, 0.5]
    assert joined.roll_in_steps.tolist() == [0, 0, guided.roll_in_steps[0], 0, 0]
    np.testing.assert_array_equal(flatten_population(joined.guides), flatten_population(guided.guides))
    np.testing.assert_array_equal(flatten_population(joined.policies)[2:3], flatten_population(guided.policies))
    assert join_episodes(plain, plain).guides is None
