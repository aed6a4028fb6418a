"""Gaussian policies: a perceptron gives the mean action, a learned vector the deviations, the same in every state."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from qdpg.learn.networks import MLP, apply_mlp, init_mlp


class Gaussian(NamedTuple):
    """A policy with independent normal actions, unbounded."""

    mean: MLP
    log_std: jax.Array  # [A]


def init_gaussian(key: jax.Array, sizes: tuple[int, ...], std: float) -> Gaussian:
    """Draw a policy of widths `sizes` from input to actions, with the same deviation `std` of every action."""
    mean = jax.tree.map(jnp.asarray, init_mlp(key, sizes, output="linear"))
    return Gaussian(mean, jnp.full(sizes[-1], math.log(std), jnp.float32))


def log_density(policy: Gaussian, inputs: jax.Array, actions: jax.Array) -> jax.Array:
    """Log-density [...] of actions [..., A] after inputs [..., I]."""
    return standard_log_density((actions - apply_mlp(policy.mean, inputs)) / jnp.exp(policy.log_std), policy.log_std)


def standard_log_density(draws: jax.Array, log_std: jax.Array) -> jax.Array:
    """Log-density [...] of actions that are `draws` [..., A] deviations away from their means."""
    return -0.5 * (draws**2).sum(axis=-1) - log_std.sum() - 0.5 * draws.shape[-1] * math.log(2 * math.pi)


def entropy(policy: Gaussian) -> jax.Array:
    """Differential entropy, []; the same in every state."""
    return policy.log_std.sum() + 0.5 * policy.log_std.size * (1 + math.log(2 * math.pi))


def divergence(mean: jax.Array, log_std: jax.Array, other_mean: jax.Array, other_log_std: jax.Array) -> jax.Array:
    """Kullback-Leibler divergence [...] of the second Gaussian from the first; means are [..., A], deviations [A]."""
    ratio = jnp.exp(2 * (log_std - other_log_std))
    distance = ((mean - other_mean) * jnp.exp(-other_log_std)) ** 2
    return (other_log_std - log_std + 0.5 * (ratio + distance - 1)).sum(axis=-1)
