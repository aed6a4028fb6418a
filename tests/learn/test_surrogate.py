"""What policies will do, told from what others did that act alike."""

import jax
import numpy as np
import pytest

from qdpg.learn.networks import apply_mlp, init_population
from qdpg.learn.surrogate import describe, predict


def made_up(number, rng, features=30):
    """Descriptions of policies that differ in two ways only, and two things that follow from these."""
    ways = rng.uniform(-1.0, 1.0, (number, 2))
    mixing = np.random.default_rng(9).standard_normal((2, features))
    return ways @ mixing, np.stack([np.sin(2.0 * ways[:, 0]), 100.0 + 10.0 * ways[:, 0] * ways[:, 1]], axis=1)


def test_what_likes_did_is_expected_of_the_others():
    rng = np.random.default_rng(0)
    known, targets = made_up(80, rng)
    asked, true = made_up(200, rng)
    expected = predict(known, targets, asked)
    errors = np.abs(expected.means - true)
    assert (errors.mean(axis=0) < 0.15 * true.std(axis=0)).all()
    within = errors < 2.0 * expected.deviations
    assert within.mean() > 0.9


def test_who_acts_like_nobody_else_is_expected_to_do_anything():
    rng = np.random.default_rng(1)
    known, targets = made_up(60, rng)
    near, far = predict(known, targets, known[:5]), predict(known, targets, known[:5] + 50.0)
    np.testing.assert_allclose(far.means, np.tile(targets.mean(axis=0), (5, 1)), rtol=1e-6)
    np.testing.assert_allclose(far.deviations, np.tile(targets.std(axis=0), (5, 1)), rtol=1e-6)
    assert (near.deviations < 0.5 * far.deviations).all()


def test_where_actions_say_nothing_everything_is_chance():
    rng = np.random.default_rng(2)
    known, targets = rng.standard_normal((60, 30)), rng.standard_normal((60, 2))
    expected = predict(known, targets, rng.standard_normal((20, 30)))
    assert (np.abs(expected.means - targets.mean(axis=0)) < 0.5).all()
    assert (expected.deviations > 0.75 * targets.std(axis=0)).all()


@pytest.mark.parametrize("number", [1, 2, 5])
def test_policies_that_are_all_alike_can_be_asked_about(number):
    known, targets = np.ones((number, 4)), np.full((number, 2), 3.0)
    expected = predict(known, targets, np.zeros((3, 4)))
    assert np.isfinite(expected.means).all()
    assert np.isfinite(expected.deviations).all()
    np.testing.assert_allclose(expected.means, 3.0, atol=1e-6)


def test_policies_are_described_by_their_clipped_actions():
    policies = init_population(jax.random.key(0), 3, (4, 8, 2), output="linear")
    states = 20.0 * np.random.default_rng(3).standard_normal((6, 4)).astype(np.float32)
    described = describe(policies, states)
    assert described.shape == (3, 12)
    one = jax.tree.map(lambda leaf: leaf[1], policies)
    np.testing.assert_allclose(described[1], np.clip(apply_mlp(one, states), -1, 1).ravel(), rtol=1e-5)
    assert (np.abs(described) == 1.0).any()
