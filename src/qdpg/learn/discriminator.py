"""Telling skills apart by where they lead (Eysenbach et al., ICLR 2019): a classifier, and the reward it gives.

The reward of a state is log q(z | state) - log p(z) with p uniform over K skills: never above log K, zero where the
classifier knows nothing, and always zero if there is but one skill. The classifier never sees the skill itself.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from qdpg.learn.backprop import forward, parameter_gradient
from qdpg.learn.networks import MLP, init_mlp

Seen = Literal["descriptor", "observation"]


class Range(NamedTuple):
    """What the classifier's inputs are shifted by and divided by, [X] each."""

    centre: jax.Array
    half: jax.Array


class Discriminator(eqx.Module):
    """A classifier of states.

    Attributes:
        network: Maps what is seen of states [..., X] to K logits.
        optimiser: Its Adam.
        inputs: How the inputs are scaled.
        seen: Whether it sees a state's descriptor or the whole observation.
        rate: Its learning rate.
    """

    network: MLP
    optimiser: Any
    inputs: Range
    seen: Seen = eqx.field(static=True)
    rate: float = eqx.field(static=True)

    @property
    def skills(self) -> int:
        """K."""
        return self.network.sizes[-1]


def init_discriminator(
    key: jax.Array, sizes: tuple[int, ...], seen: Seen, low: np.ndarray, high: np.ndarray, rate: float
) -> Discriminator:
    """Draw a classifier.

    Args:
        key: Random key.
        sizes: Widths from X to K.
        seen: What it sees of a state.
        low: [X], what becomes -1.
        high: [X], what becomes 1.
        rate: Learning rate.
    """
    network = jax.tree.map(jnp.asarray, init_mlp(key, sizes, output="linear"))
    inputs = Range(jnp.asarray((low + high) / 2, jnp.float32), jnp.asarray((high - low) / 2, jnp.float32))
    return Discriminator(network, optax.scale_by_adam().init(network), inputs, seen, rate)


def log_probabilities(discriminator: Discriminator, states: jax.Array) -> jax.Array:
    """Logarithms of q(z | state) of all K skills [..., K], given what is seen of states [..., X]."""
    return jax.nn.log_softmax(forward(discriminator.network, _scale(discriminator, states)).output)


def skill_reward(discriminator: Discriminator, states: jax.Array, skills: jax.Array) -> jax.Array:
    """The reward, [B], of states [B, X] and skills [B] int32."""
    chosen = jnp.take_along_axis(log_probabilities(discriminator, states), skills[:, None], axis=1)[:, 0]
    return chosen + math.log(discriminator.skills)


def update_discriminator(discriminator: Discriminator, states: jax.Array, skills: jax.Array) -> Discriminator:
    """One step of Adam down the mean cross-entropy at states [B, X] that skills [B] int32 led to."""
    passed = forward(discriminator.network, _scale(discriminator, states))
    missed = jax.nn.softmax(passed.output) - jax.nn.one_hot(skills, discriminator.skills)
    gradient = parameter_gradient(discriminator.network, passed, missed / len(skills))
    steps, optimiser = optax.scale_by_adam().update(gradient, discriminator.optimiser)
    network = jax.tree.map(lambda p, step: p - discriminator.rate * step, discriminator.network, steps)
    return Discriminator(network, optimiser, discriminator.inputs, discriminator.seen, discriminator.rate)


def _scale(discriminator: Discriminator, states: jax.Array) -> jax.Array:
    return (states - discriminator.inputs.centre) / discriminator.inputs.half
