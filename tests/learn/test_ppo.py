"""PPO against plain PPO in float64, and the promises that its docstrings make."""

import jax
import numpy as np
import plain_ppo
import pytest

from qdpg.learn.gaussian import log_density
from qdpg.learn.ppo import (
    Experience,
    PPOSettings,
    draw_order,
    estimate_advantages,
    improve,
    init_learner,
    make_experience,
    standardise,
)

SETTINGS = PPOSettings(batch_size=16, epochs=3, actor_rate=3e-3, critic_rate=3e-3)
LENGTHS = np.array([9, 5, 12, 1])
ENDED = np.array([False, True, True, False])


@pytest.fixture
def episodes():
    """Observations, draws, rewards, lengths and ends of four episodes, padded."""
    rng = np.random.default_rng(0)
    observations, draws, rewards = (
        rng.normal(size=shape).astype(np.float32) for shape in ((4, 13, 3), (4, 12, 2), (4, 12))
    )
    played = np.arange(12) < LENGTHS[:, None]
    return observations, draws, np.where(played, rewards, 0).astype(np.float32), LENGTHS, ENDED


@pytest.fixture
def rows():
    return np.flatnonzero(np.arange(12) < LENGTHS[:, None])


def make_learner(settings=SETTINGS):
    return init_learner(jax.random.key(1), (3, 16, 8, 2), 0.7, settings)


def plain(network):
    return [
        (np.asarray(w, np.float64), np.asarray(b, np.float64))
        for w, b in zip(network.weights, network.biases, strict=True)
    ]


def test_an_end_is_worth_nothing_and_a_time_limit_what_the_critic_says():
    rewards, values = np.array([[1.0], [1.0]]), np.array([[3.0, 10.0], [3.0, 10.0]])
    found = estimate_advantages(rewards, values, np.array([1, 1]), np.array([True, False]), 0.9, 0.5)
    np.testing.assert_allclose(found, [[1 - 3], [1 + 9 - 3]])


def test_advantages_equal_plain_sums(episodes):
    *_, rewards, lengths, ended = episodes
    values = np.random.default_rng(1).normal(size=(4, 13)).astype(np.float32)
    found = np.asarray(estimate_advantages(rewards, values, lengths, ended, 0.97, 0.9))
    for n, length in enumerate(lengths):
        expected = plain_ppo.advantages(rewards[n, :length], values[n, : length + 1], ended[n], 0.97, 0.9)
        np.testing.assert_allclose(found[n, :length], expected, atol=1e-5)
        assert not found[n, length:].any()


def test_experience_is_that_of_the_policy(episodes, rows):
    learner = make_learner()
    experience = make_experience(learner, *episodes, settings=SETTINGS)
    assert {leaf.shape[0] for leaf in experience} == {48}
    assert experience.values.shape == experience.goals.shape == experience.advantages.shape == (48,)
    own = log_density(learner.policy, experience.observations, experience.actions)
    np.testing.assert_allclose(own, experience.log_densities, atol=1e-5)  # ratios start at one
    np.testing.assert_allclose(experience.goals - experience.values, experience.advantages, atol=1e-6)
    np.testing.assert_array_equal(experience.observations[rows[9]], episodes[0][1, 0])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"ratio_clip": 0.02, "value_clip": 0.01},  # reached at once
        {"gradient_clip": 0.01, "epochs": 20},
        {"entropy_weight": 0.1, "value_weight": 1.0, "gradient_clip": 100.0, "batch_size": 48},
    ],
)
def test_update_equals_plain_ppo(episodes, rows, changes):
    settings = PPOSettings(**(vars(SETTINGS) | changes))
    learner = make_learner(settings)
    experience = make_experience(learner, *episodes, settings=settings)
    experience = experience._replace(advantages=standardise(np.asarray(experience.advantages), rows))
    order, steps = draw_order(np.random.default_rng(0), rows, 48, settings)
    found = improve(learner, experience, order, steps, settings=settings)
    wide = Experience(*(np.asarray(leaf, np.float64) for leaf in experience))
    batches = [Experience(*(leaf[part[part >= 0]] for leaf in wide)) for part in order[:steps]]
    policy, critic = learner.policy, learner.critic
    mean, log_std, value = plain_ppo.improve(
        plain(policy.mean), np.asarray(policy.log_std, np.float64), plain(critic), batches, settings
    )
    np.testing.assert_allclose(found.policy.log_std, log_std, atol=2e-5)
    for network, expected, before in ((found.policy.mean, mean, policy.mean), (found.critic, value, critic)):
        for (w, b), (expected_w, expected_b) in zip(plain(network), expected, strict=True):
            np.testing.assert_allclose(w, expected_w, atol=2e-5)
            np.testing.assert_allclose(b, expected_b, atol=2e-5)
        assert np.abs(plain(network)[0][0] - plain(before)[0][0]).max() > 1e-3


def test_rows_that_were_not_played_do_not_matter(episodes, rows):
    learner = make_learner()
    experience = make_experience(learner, *episodes, settings=SETTINGS)
    order, steps = draw_order(np.random.default_rng(0), rows, 48, SETTINGS)
    absent = np.setdiff1d(np.arange(48), rows)
    spoilt = Experience(*(np.array(leaf) for leaf in experience))
    for leaf in spoilt:
        leaf[absent] = np.nan
    order[steps:] = 7  # neither do minibatches that are not to be taken
    found = [improve(learner, each, order, steps, settings=SETTINGS) for each in (experience, spoilt)]
    for a, b in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_array_equal(a, b)


def test_every_row_once_per_epoch_in_minibatches_of_nearly_equal_size(rows):
    order, steps = draw_order(np.random.default_rng(0), rows, 48, SETTINGS)
    fewer, fewer_steps = draw_order(np.random.default_rng(0), rows[:10], 48, SETTINGS)
    assert order.shape == fewer.shape == (9, 16)
    assert (steps, fewer_steps) == (6, 3)  # 27 rows in two minibatches, 10 in one, three times
    epochs = order[:steps].reshape(3, 32)
    for epoch in epochs:
        assert sorted(epoch[epoch >= 0]) == sorted(rows)
    assert not np.array_equal(epochs[0], epochs[1])
    assert set((order[:steps] >= 0).sum(axis=1)) == {13, 14}


def test_advantages_are_standardised_over_real_rows():
    found = standardise(np.array([1.0, 100.0, 3.0], np.float32), np.array([0, 2]))
    np.testing.assert_allclose(found[[0, 2]], [-1, 1])
