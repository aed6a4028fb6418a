"""Normalising observations is the same as folding the normaliser into the first layer."""

import jax
import numpy as np
import pytest

from qdpg.learn.networks import apply_mlp, flatten_population, init_normalised, init_population
from qdpg.learn.normaliser import fold, no_stats, unfold


@pytest.fixture
def seen():
    rng = np.random.default_rng(0)
    return rng.normal([3.0, -50.0, 0.0], [2.0, 10.0, 0.0], (1000, 3)).astype(np.float32)


def test_statistics_add_up(seen):
    mean, std = no_stats(3).add(seen).moments()
    np.testing.assert_allclose(mean, seen.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(std, [seen[:, 0].std(), seen[:, 1].std(), 0.1], rtol=1e-5)  # no division by nothing
    parts = no_stats(3).add(seen[:300]).add(seen[300:]).moments()
    np.testing.assert_allclose(parts, (mean, std), rtol=1e-6)
    np.testing.assert_array_equal(no_stats(2).moments(), [[0, 0], [1, 1]])


def test_folded_networks_see_normalised_observations(seen):
    stats = no_stats(3).add(seen)
    population = init_population(jax.random.key(0), 4, (3, 16, 2), "tanh")
    mean, std = stats.moments()
    inputs = np.broadcast_to(seen, (4, *seen.shape))
    expected = jax.vmap(apply_mlp)(population, (inputs - mean) / std)
    np.testing.assert_allclose(jax.vmap(apply_mlp)(fold(population, stats), inputs), expected, atol=1e-4)


def test_unfold_is_the_inverse_and_company_does_not_matter(seen):
    stats = no_stats(3).add(seen)
    population = init_population(jax.random.key(0), 4, (3, 16, 2), "tanh")
    back = unfold(fold(population, stats), stats)
    np.testing.assert_allclose(flatten_population(back), flatten_population(population), atol=2e-5)
    alone = fold(jax.tree.map(lambda leaf: leaf[2:3], population), stats)
    np.testing.assert_array_equal(flatten_population(alone)[0], flatten_population(fold(population, stats))[2])


def test_normalised_initialisation_has_units_of_length_one():
    population = init_normalised(np.random.default_rng(0), 3, (5, 16, 2), output_scale=0.01)
    np.testing.assert_allclose(np.linalg.norm(population.weights[0], axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(population.weights[1], axis=1), 0.01, rtol=1e-5)
    assert not any(np.any(bias) for bias in population.biases)
