"""Minibatches for direction-conditioned critics: what is it worth to move the descriptor ψ in a direction w?

Each transition is given a direction w in the space of descriptors. The reward is w · (ψ(s′) − ψ(s)), and networks see w
behind the observation. So one transition teaches all directions, whatever has been visited.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from qdpg.learn.draws import random_bits, random_normal
from qdpg.learn.transitions import (
    CONTINUES,
    REWARD,
    Batch,
    Numbers,
    Scaling,
    Transitions,
    draw_slots,
    scale_observations,
    successors,
)

LONGEST = 1.75  # length of the longest direction that is drawn
SHORTEST = 0.25  # of the shortest where the length counts; where only the direction counts, it may be any

Turn = tuple[tuple[tuple[int, int], ...], ...]  # see `TaskSpec.quarter_turn`


Ranges = tuple[tuple[float, float], ...]  # lower and upper end of each descriptor


class Movement(NamedTuple):
    """What counts as movement along a direction; see `RandomDirections`."""

    ranges: Ranges = ()
    of_mean: bool = False
    unit: bool = False

    def gain(self, before: Numbers, after: Numbers) -> Numbers:
        """What steps from ψ `before` to ψ `after` gain along each axis, [..., D] each."""
        gained = after - before
        if self.of_mean:
            gained = after - np.mean(np.array(self.ranges, np.float32), axis=1)
        return gained / _half(self.ranges) if self.ranges else gained

    def __call__(self, directions: jax.Array, before: jax.Array, after: jax.Array) -> jax.Array:
        """The reward of steps, [...], for `directions` [..., D]; see `gain`."""
        moved = jnp.sum(directions * self.gain(before, after), axis=-1)
        if self.unit:
            moved /= jnp.sqrt(jnp.sum(directions * directions, axis=-1) + 1e-12)
        return moved


def _half(ranges: Ranges) -> np.ndarray:
    low, high = np.array(ranges, np.float32).T
    return (high - low) / 2


class RandomDirections(eqx.Module):
    """Uniformly drawn transitions, each with a random direction: what critics are trained on.

    Attributes:
        transitions: Where they come from.
        weights: [2], of the environment's reward and of the movement along w.
        scaling: How networks see observations; None for as they are.
        ranges: [D] lower and upper ends of ψ, which is then measured from -1 to 1; empty measures it as it is.
        of_mean: Whether the mean of ψ is to move, not its final value: the reward is then w · ψ(s′), not what the step
            adds to w · ψ.
        unit: Whether only the direction of w counts, not its length.
        quarter_turn: Symmetry augmentation: if given, each quarter of a minibatch is seen as if it had happened one
            more quarter turn to the left; see `TaskSpec.quarter_turn`.
    """

    transitions: Transitions
    weights: jax.Array
    scaling: Scaling | None = None
    ranges: Ranges = eqx.field(static=True, default=())
    of_mean: bool = eqx.field(static=True, default=False)
    unit: bool = eqx.field(static=True, default=False)
    quarter_turn: Turn = eqx.field(static=True, default=())

    def __call__(self, key: jax.Array, step: jax.Array, shape: tuple[int, int], action_size: int) -> Batch:
        """See `Minibatches`."""
        slots = draw_slots(self.transitions, key, step, shape)
        shortest = 0.0 if self.unit else SHORTEST
        directions = draw_directions(key, step, (*shape, self.transitions.descriptors.shape[-1]), shortest)
        movement = Movement(self.ranges, self.of_mean, self.unit)
        return _take(
            self.transitions, self.weights, slots, action_size, directions, self.scaling, movement, self.quarter_turn
        )


class NovelDirections(eqx.Module):
    """Uniformly drawn transitions, each with the direction in which novelty grows fastest: what elites climb.

    To first order, w · (ψ(s′) − ψ(s)) is then what the step gains in novelty.

    Attributes:
        transitions: Where they come from.
        weights: See `RandomDirections`, as for the others.
        scaling: See there.
        ranges: See there.
    """

    transitions: Transitions
    weights: jax.Array
    scaling: Scaling | None = None
    ranges: Ranges = eqx.field(static=True, default=())

    def __call__(self, key: jax.Array, step: jax.Array, shape: tuple[int, int], action_size: int) -> Batch:
        """See `Minibatches`."""
        slots = draw_slots(self.transitions, key, step, shape)
        directions = self.transitions.novelty_gradients[slots]
        if (
            self.ranges
        ):  # novelty per ψ as it is, brought to novelty per ψ from -1 to 1, of length 1 where it is longest
            directions *= _half(self.ranges)
            directions /= jnp.sqrt(jnp.max(jnp.sum(directions * directions, axis=-1)) + 1e-12)
        movement = Movement(self.ranges)
        return _take(self.transitions, self.weights, slots, action_size, directions, self.scaling, movement)


def draw_directions(key: jax.Array, step: jax.Array, shape: tuple[int, ...], shortest: float) -> jax.Array:
    """Draw directions [..., D] of lengths from `shortest` to `LONGEST`."""
    normal = random_normal(key, step, shape, stream=2)
    unit = normal / jnp.sqrt(jnp.sum(normal * normal, axis=-1, keepdims=True) + 1e-12)
    share = (random_bits(key, step, (*shape[:-1], 1), stream=3) >> 8).astype(jnp.float32) * 2.0**-24
    return (shortest + (LONGEST - shortest) * share) * unit


def _take(
    transitions: Transitions,
    weights: jax.Array,
    slots: jax.Array,
    action_size: int,
    directions: jax.Array,
    scaling: Scaling | None,
    movement: Movement,
    quarter_turn: Turn = (),
) -> Batch:
    """Read the transitions in `slots` [...] with `directions` [..., D] as part of what is observed."""
    observation_size = transitions.rows.shape[-1] + REWARD - action_size
    rows, after = transitions.rows[slots], successors(transitions, slots)
    following = transitions.rows[after, :observation_size]
    moved = movement(directions, transitions.descriptors[slots], transitions.descriptors[after])
    reward = weights[0] * rows[..., REWARD] + weights[1] * moved
    if quarter_turn:
        observed, acted = quarter_turn
        actions = tuple((observation_size + source, sign) for source, sign in acted)
        rest = tuple((source, 1) for source in range(observation_size + action_size, rows.shape[-1]))
        rows, following = turn_quarters(rows, (*observed, *actions, *rest)), turn_quarters(following, observed)
        directions = turn_quarters(directions, ((1, -1), (0, 1)))
    rows, following = scale_observations(rows, scaling), scale_observations(following, scaling)
    observation = jnp.concatenate([rows[..., :observation_size], directions], axis=-1)
    action = rows[..., observation_size : observation_size + action_size]
    return Batch(
        pair=jnp.concatenate([observation, action], axis=-1),
        observation=observation,
        reward=reward,
        continues=rows[..., CONTINUES],
        following=jnp.concatenate([following, directions], axis=-1),
    )


def turn_quarters(rows: jax.Array, turn: tuple[tuple[int, int], ...]) -> jax.Array:
    """Turn each quarter of [..., B, R] once more than the one before; `turn` has source and sign of each column."""
    sources, signs = np.array(turn).T
    before, sign, quarters = np.arange(len(turn)), np.ones(len(turn), np.float32), []
    for quarter in jnp.array_split(rows, 4, axis=-2):
        quarters.append(quarter[..., before] * sign)
        before, sign = before[sources], sign[sources] * signs.astype(np.float32)
    return jnp.concatenate(quarters, axis=-2)
