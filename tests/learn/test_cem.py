import numpy as np
import pytest

from qdpg.learn.cem import Distribution, init_distribution, sample, update


def test_noise_schedule():
    distribution, seen = init_distribution(np.zeros(3), 1e-3), []
    rng = np.random.default_rng(0)
    for _ in range(100):
        distribution = update(distribution, sample(distribution, rng, 4), np.zeros(4))
        seen.append(distribution.noise)
    assert [seen[n - 1] for n in (10, 50, 100)] == pytest.approx([6.03e-4, 8.62e-5, 1.59e-5], rel=5e-3)


def test_update_by_hand():
    """Four vectors, two parents: the variance is about the old mean, and divided by two once more."""
    old = Distribution(np.array([1.0, 0.0]), np.array([5.0, 5.0]), 1e-3)
    vectors = np.array([[3.0, 0.0], [0.0, 9.0], [2.0, 1.0], [0.0, -9.0]])
    new = update(old, vectors, np.array([1.0, -5.0, 2.0, -4.0]))
    first, second = np.log(3), np.log(3 / 2)
    first, second = first / (first + second), second / (first + second)
    np.testing.assert_allclose(new.mean, [2 * first + 3 * second, first])
    noise = 0.95e-3 + 0.05e-5
    np.testing.assert_allclose(new.variance, [(first * 1 + second * 4) / 2 + noise, first / 2 + noise])
    assert new.noise == pytest.approx(noise)


def test_samples_are_mirrored_and_of_the_right_spread():
    distribution = Distribution(np.array([1.0, -2.0]), np.array([4.0, 0.25]), 0.0)
    drawn = sample(distribution, np.random.default_rng(0), 20_000)
    np.testing.assert_allclose(drawn[:10_000] + drawn[10_000:], np.broadcast_to([2.0, -4.0], (10_000, 2)), atol=1e-12)
    np.testing.assert_allclose(drawn.std(axis=0), [2.0, 0.5], rtol=0.02)  # a variance is not a deviation


def test_descends_a_sphere():
    distribution, rng = init_distribution(np.ones(20), 1e-2), np.random.default_rng(0)
    for _ in range(200):
        drawn = sample(distribution, rng, 20)
        distribution = update(distribution, drawn, -(drawn**2).sum(axis=1))
    assert (distribution.mean**2).sum() < 2  # from 20
