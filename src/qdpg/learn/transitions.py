"""How transitions lie in memory, and how minibatches are drawn from them.

Updates such as `learn/td3.py` do not know where minibatches come from: they are handed a function that draws one. The
one here is the ordinary one; `learn/directions.py` has another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from qdpg.learn.draws import random_bits

REWARD, CONTINUES, NOVELTY = -3, -2, -1  # columns behind observation and action

Numbers = TypeVar("Numbers", jax.Array, np.ndarray)


class Transitions(NamedTuple):
    """A replay memory as compiled updates read it."""

    rows: jax.Array  # [capacity, O + A + 3] float32; the successor of a row is the next one
    playable: jax.Array  # [capacity] int32, slots of rows that have a successor, the first `number` of them meant
    number: jax.Array  # [] int32
    descriptors: jax.Array  # [capacity, D] float32, ψ of each row's state
    novelty_gradients: jax.Array  # [capacity, D] float32, ∂novelty/∂ψ there, where somebody has written it


class Batch(NamedTuple):
    """Minibatches of n actors; leading axes [n, B], or [B] of one."""

    pair: jax.Array  # observation and action, joined as they are stored
    observation: jax.Array
    reward: jax.Array
    continues: jax.Array  # 0 where the episode really ended, else 1
    following: jax.Array  # next observation


class Minibatches(Protocol):
    """What draws the minibatches of one gradient step: a pytree, so that compiled updates take it as an argument."""

    def __call__(self, key: jax.Array, step: jax.Array, shape: tuple[int, int], action_size: int) -> Batch:
        """Draw minibatches.

        Args:
            key: [2] uint32, of the whole improvement.
            step: [] int, number of the gradient step; the same key and step draw the same minibatches.
            shape: (n, B), actors and transitions of each one's minibatch.
            action_size: A.
        """
        ...


class Scaling(eqx.Module):
    """How networks that learn see observations x: as factors · x + offsets.

    Attributes:
        factors: [O].
        offsets: [O].
    """

    factors: jax.Array
    offsets: jax.Array


class UniformMinibatches(eqx.Module):
    """Transitions drawn uniformly with replacement; the reward is a weighted sum of the environment's and novelty.

    Attributes:
        transitions: Where they come from.
        weights: [2], of the environment's reward and of the novelty.
        scaling: How networks see observations; None for as they are.
        shaping: If given, novelty is shaped with this discount; see `shape_by_potential`.
    """

    transitions: Transitions
    weights: jax.Array
    scaling: Scaling | None = None
    shaping: float | None = eqx.field(static=True, default=None)

    def __call__(self, key: jax.Array, step: jax.Array, shape: tuple[int, int], action_size: int) -> Batch:
        """See `Minibatches`."""
        slots = draw_slots(self.transitions, key, step, shape)
        return take_batch(self.transitions, self.weights, slots, action_size, self.scaling, self.shaping)


class WithBonus(eqx.Module):
    """Other minibatches with a bonus on the reward.

    Attributes:
        minibatches: What draws them.
        bonus: A pytree that maps next observations [n, B, O], as networks see them, to what is added, [n, B].
    """

    minibatches: Any
    bonus: Callable[[jax.Array], jax.Array]

    def __call__(self, key: jax.Array, step: jax.Array, shape: tuple[int, int], action_size: int) -> Batch:
        """See `Minibatches`."""
        batch = self.minibatches(key, step, shape, action_size)
        return batch._replace(reward=batch.reward + self.bonus(batch.following))


def draw_slots(transitions: Transitions, key: jax.Array, step: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Draw the transitions of one step's minibatches, uniformly with replacement, as slots of the replay memory."""
    return transitions.playable[random_bits(key, step, shape) % transitions.number.astype(jnp.uint32)]


def take_batch(
    transitions: Transitions,
    weights: jax.Array,
    slots: jax.Array,
    action_size: int,
    scaling: Scaling | None = None,
    shaping: float | None = None,
) -> Batch:
    """Read the transitions in `slots` [...]; see `UniformMinibatches`."""
    observation_size = transitions.rows.shape[-1] + REWARD - action_size
    rows, after = transitions.rows[slots], successors(transitions, slots)
    following, novelty = transitions.rows[after, :observation_size], rows[..., NOVELTY]
    if shaping is not None:
        novelty = shape_by_potential(novelty, transitions.rows[after, NOVELTY], rows[..., CONTINUES], shaping)
    plain = Batch(
        pair=rows[..., : observation_size + action_size],
        observation=rows[..., :observation_size],
        reward=weights[0] * rows[..., REWARD] + weights[1] * novelty,
        continues=rows[..., CONTINUES],
        following=following,
    )
    return scale_batch(plain, scaling)


def scale_batch(batch: Batch, scaling: Scaling | None) -> Batch:
    """The same transitions with observations as networks see them."""
    pair, observation, following = (
        scale_observations(each, scaling) for each in (batch.pair, batch.observation, batch.following)
    )
    return batch._replace(pair=pair, observation=observation, following=following)


def successors(transitions: Transitions, slots: jax.Array) -> jax.Array:
    """The slots of the states that the transitions in `slots` led to."""
    return (slots + 1) % transitions.rows.shape[0]


def scale_observations(rows: jax.Array, scaling: Scaling | None) -> jax.Array:
    """Scale the first columns of `rows` [..., R], which are observations; None leaves them as they are."""
    if scaling is None:
        return rows
    others = rows.shape[-1] - len(scaling.factors)
    return rows * jnp.append(scaling.factors, jnp.ones(others)) + jnp.append(scaling.offsets, jnp.zeros(others))


def shape_by_potential(before: Numbers, after: Numbers, continues: Numbers, discount: float) -> Numbers:
    """Potential-based shaping (Ng et al., 1999) of a reward that is paid for being in a state, such as novelty.

    This is 1 - γ times the quantity in the state reached, shaped with the quantity as potential: values change by what
    does not depend on the action, so policies are ranked as before. But the value of an action is no longer a small
    difference of large numbers, which is hard to learn when a step moves a body by a few centimetres.

    Args:
        before: The quantity in the states that steps began in.
        after: The quantity in the states that they led to.
        continues: 0 where the episode really ended, else 1.
        discount: γ.
    """
    return (1.0 - discount + discount * continues) * after - before
