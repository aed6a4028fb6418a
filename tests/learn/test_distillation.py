import jax
import numpy as np
import pytest

from qdpg.learn.distillation import Moments, init_distillation, make_bonus, observe, train_predictor, update_moments
from qdpg.learn.networks import MLP

KEY = jax.random.key(0)


def region(centre, seed, episodes=2, steps=200):
    """Episodes that stay around a place in the plane."""
    rng = np.random.default_rng(seed)
    return (np.array(centre) + 0.1 * rng.standard_normal((episodes, steps, 2))).astype(np.float32)


def everywhere(states):
    return np.ones(states.shape[:2], bool)


def test_moments_are_those_of_all_samples():
    samples = np.random.default_rng(0).normal(3, 2, (100, 4))
    moments = Moments(0.0, np.zeros(4), np.ones(4))
    for part in np.split(samples, [7, 50]):
        moments = update_moments(moments, part)
    np.testing.assert_allclose(moments.mean, samples.mean(axis=0))
    np.testing.assert_allclose(moments.variance, samples.var(axis=0))
    assert moments.number == 100


def test_scale_of_the_raw_bonus_does_not_matter():
    """Ten times the outputs of both networks are a hundred times the error, and the same bonus."""

    def louder(network):
        *front, last = network.weights
        *front_biases, last_bias = network.biases
        return MLP((*front, 10 * last), (*front_biases, 10 * last_bias), network.hidden, network.output)

    plain = init_distillation(KEY, (2, 16, 8), 2)
    loud = plain._replace(target=louder(plain.target), predictor=louder(plain.predictor))
    states = np.random.default_rng(1).normal(size=(2, 300, 2)).astype(np.float32)
    bonuses = [make_bonus(observe(s, states, everywhere(states), 0.99), 1.0)(states) for s in (plain, loud)]
    assert bonuses[0].mean() > 1e-3
    np.testing.assert_allclose(bonuses[0], bonuses[1], rtol=1e-4)


def test_scale_is_the_deviation_of_discounted_sums():
    state = init_distillation(KEY, (2, 16, 8), 2)
    states, played = np.random.default_rng(1).normal(size=(2, 50, 2)).astype(np.float32), np.ones((2, 50), bool)
    played[1, 30:] = False
    after = observe(state, states, played, 0.9)
    raw = np.asarray(make_bonus(after, float(np.sqrt(after.sums.variance)))(states), np.float64)
    sums = []
    for n, length in ((0, 50), (1, 30)):
        total = 0.0
        for t in range(length):
            total = 0.9 * total + raw[n, t]
            sums.append(total)
        assert after.running[n] == pytest.approx(total, rel=1e-4)
    assert after.sums.variance == pytest.approx(np.var(sums), rel=1e-4)
    later = observe(after, states, played, 0.9)
    assert later.running[0] == pytest.approx(0.9**50 * after.running[0] + after.running[0], rel=0.05)  # goes on


def test_known_places_lose_their_bonus_and_others_keep_it():
    here, there = region((1.0, 1.0), 0), region((-1.0, -1.0), 1)
    both = np.concatenate([here, there])
    state = observe(init_distillation(KEY, (2, 32, 16), 4), both, everywhere(both), 0.99)
    trained = train_predictor(state, here, everywhere(here), KEY, 2000, 1e-3, 64)
    bonus = make_bonus(trained, 1.0)
    assert bonus(here).mean() < 0.1 * bonus(there).mean()
    np.testing.assert_array_equal(trained.target.weights[0], state.target.weights[0])


def test_large_observations_do_not_drown_the_others():
    states = np.random.default_rng(0).normal(size=(2, 200, 2)).astype(np.float32) * np.float32([1000.0, 1.0])
    state = observe(init_distillation(KEY, (2, 16, 8), 2), states, everywhere(states), 0.99)
    bonus = make_bonus(state, 1.0)
    near, far = np.float32([[0.0, 0.0]]), np.float32([[0.0, 4.0]])
    assert np.abs(bonus(far) - bonus(near)) > 1e-3
    assert bonus(np.float32([[1e9, 0.0]])) == bonus(np.float32([[2e9, 0.0]]))  # clipped
