"""The written-out passes against automatic differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qdpg.learn.backprop import forward, input_gradient, parameter_gradient
from qdpg.learn.networks import apply_mlp, init_mlp, init_population

SIZES = (5, 16, 8, 3)


@pytest.mark.parametrize("hidden", ["relu", "tanh", "normed"])
@pytest.mark.parametrize("output", ["tanh", "linear"])
def test_gradients_equal_automatic_ones(hidden, output):
    network = init_mlp(jax.random.key(0), SIZES, hidden=hidden, output=output)
    left, right = jax.random.normal(jax.random.key(1), (20, 3)), jax.random.normal(jax.random.key(2), (20, 2))
    weight = jax.random.normal(jax.random.key(3), (20, 3))

    def loss(network, left, right):
        return (weight * apply_mlp(network, jnp.concatenate([left, right], axis=1))).sum()

    @jax.jit
    def written_out(network, left, right):
        passed = forward(network, left, right)
        return parameter_gradient(network, passed, weight), input_gradient(network, passed, weight)

    by_network, by_right = jax.jit(jax.grad(loss, (0, 2)))(network, left, right)
    own, own_right = written_out(network, left, right)
    for a, b in zip(jax.tree.leaves(own), jax.tree.leaves(by_network), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(own_right, by_right, rtol=1e-5, atol=1e-6)


def test_a_population_is_its_networks_one_by_one():
    population = init_population(jax.random.key(0), 4, SIZES)
    x = jax.random.normal(jax.random.key(1), (4, 20, 5))

    @jax.jit
    def both_ways(networks, x):
        passed = forward(networks, x)
        return passed.output, parameter_gradient(networks, passed, passed.output)

    output, own = both_ways(population, x)
    for n in range(4):
        network = jax.tree.map(lambda leaf, n=n: np.asarray(leaf)[n], population)
        alone, expected = both_ways(network, np.asarray(x)[n])
        np.testing.assert_allclose(output[n], alone, rtol=1e-5, atol=1e-6)
        for a, b in zip(jax.tree.leaves(own), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a[n], b, rtol=1e-5, atol=1e-5)
