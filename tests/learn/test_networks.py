"""Populations as vectors, and taken apart and put together."""

import jax
import numpy as np

from qdpg.learn.networks import (
    flatten_population,
    init_mlp,
    init_population,
    join_policies,
    repeat_policies,
    take_policies,
    unflatten_population,
)


def test_flatten_and_back():
    population = init_population(jax.random.key(0), 5, (3, 4, 2))
    vectors = flatten_population(population)
    assert vectors.shape == (5, 3 * 4 + 4 * 2 + 4 + 2)
    back = unflatten_population(vectors, init_mlp(jax.random.key(1), (3, 4, 2)))
    for a, b in zip(jax.tree.leaves(population), jax.tree.leaves(back), strict=True):
        np.testing.assert_array_equal(a, b)


def test_policies_are_taken_joined_and_repeated():
    population = init_population(jax.random.key(0), 3, (3, 4, 2), output="linear")
    vectors = flatten_population(population)

    def assert_rows(policies, rows):
        assert len(policies) == len(rows)
        assert (policies.hidden, policies.output) == ("relu", "linear")
        np.testing.assert_array_equal(flatten_population(policies), vectors[rows])

    assert_rows(take_policies(population, np.array([2, 0, 2])), [2, 0, 2])
    assert_rows(take_policies(population, slice(1, None)), [1, 2])
    assert_rows(repeat_policies(population, 7), [0, 1, 2, 0, 1, 2, 0])
    assert_rows(repeat_policies(population, 2), [0, 1])
    last = take_policies(population, slice(2, None))
    assert_rows(join_policies(last, population, take_policies(population, slice(0))), [2, 0, 1, 2])
