"""Cheap random numbers must still be random."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from qdpg.learn.draws import random_bits, random_normal

KEY = jnp.array([12345, 678910], jnp.uint32)


def draw(function, steps, shape, stream=0, key=KEY):
    compiled = jax.jit(function, static_argnums=(2, 3))
    return np.stack([np.asarray(compiled(key, jnp.int32(step), shape, stream)) for step in range(steps)])


def test_remainders_are_uniform():
    counts = np.bincount((draw(random_bits, 200, (1000,)) % 97).ravel(), minlength=97)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_every_bit_is_fair():
    bits = draw(random_bits, 100, (1000,)).astype(np.uint64).ravel()
    ones = np.array([((bits >> np.uint64(i)) & np.uint64(1)).mean() for i in range(32)])
    assert np.abs(ones - 0.5).max() < 4.5 * 0.5 / np.sqrt(bits.size)


def test_steps_lanes_streams_and_keys_are_independent():
    uniform = draw(random_bits, 300, (300,)) / 2.0**32
    others = {
        "next step": np.roll(uniform, 1, axis=0),
        "next lane": np.roll(uniform, 1, axis=1),
        "stream": draw(random_bits, 300, (300,), stream=1) / 2.0**32,
        "key": draw(random_bits, 300, (300,), key=KEY + jnp.uint32(1)) / 2.0**32,
    }
    for name, other in others.items():
        assert abs(np.corrcoef(uniform.ravel(), other.ravel())[0, 1]) < 4.5 / np.sqrt(uniform.size), name


def test_normal_numbers_are_normal():
    sample = draw(random_normal, 100, (200, 3)).ravel()
    assert stats.kstest(sample, "norm").pvalue > 1e-3
    assert np.isfinite(sample).all()
