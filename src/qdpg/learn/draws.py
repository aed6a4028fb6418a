"""Random numbers for compiled updates: a hash of key, step and lane.

Minibatches need many cheap draws that depend on nothing but their place, so that an improvement may be cut into pieces.
JAX's generators cost as much as a tenth of a small update; two rounds of an integer hash cost next to nothing.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp


def random_bits(key: jax.Array, step: jax.Array, shape: tuple[int, ...], stream: int = 0) -> jax.Array:
    """Uniform 32-bit numbers of a step.

    Args:
        key: [2] uint32.
        step: [] integer.
        shape: Of the result.
        stream: Different draws of the same step have different streams.
    """
    lanes = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    offset = _mix(_mix(step.astype(jnp.uint32) ^ key[1]) + jnp.uint32(stream))
    return _mix(_mix(lanes ^ key[0]) + offset)


def random_normal(key: jax.Array, step: jax.Array, shape: tuple[int, ...], stream: int = 0) -> jax.Array:
    """Standard normal numbers of a step, float32; see `random_bits`."""
    bits = random_bits(key, step, shape, stream)
    uniform = (bits >> 8).astype(jnp.float32) * 2.0**-23 - (1.0 - 2.0**-24)  # in (-1, 1), symmetric
    return math.sqrt(2.0) * jax.lax.erf_inv(uniform)


def _mix(x: jax.Array) -> jax.Array:
    """A bijection of 32-bit numbers in which every output bit depends on all input bits (constants of lowbias32)."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x21F0AAAD)
    x = (x ^ (x >> 15)) * jnp.uint32(0x735A2D97)
    return x ^ (x >> 15)
