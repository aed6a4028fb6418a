"""Minibatches for descriptor-conditioned critics (DCG-ME, DCRL-ME): what is an action worth to who wants to end at d′?

Every transition in the replay memory carries the behaviour d of its episode and the behaviour d′ that its policy was to
have, both from -1 to 1. The reward counts as much as the two are alike: r · exp(−‖d − d′‖ / ℓ). Networks see d′.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from qdpg.learn.transitions import (
    CONTINUES,
    REWARD,
    Batch,
    Scaling,
    Transitions,
    draw_slots,
    scale_observations,
    successors,
)


class DescriptorMinibatches(eqx.Module):
    """Uniformly drawn transitions with the behaviour that was wanted behind the observation.

    Attributes:
        transitions: Where they come from; behind each observation they hold d and d′.
        weight: [] of the environment's reward.
        length_scale: ℓ.
        size: D, of d and of d′.
        scaling: How networks see observations; None for as they are.
        wanted: [n, D] what each of n actors wants instead of what was wanted when the transition was played; None
            leaves that.
    """

    transitions: Transitions
    weight: jax.Array
    length_scale: float = eqx.field(static=True)
    size: int = eqx.field(static=True)
    scaling: Scaling | None = None
    wanted: jax.Array | None = None

    def __call__(self, key: jax.Array, step: jax.Array, shape: tuple[int, int], action_size: int) -> Batch:
        """See `Minibatches`."""
        slots = draw_slots(self.transitions, key, step, shape)
        rows = self.transitions.rows[slots]
        labelled = rows.shape[-1] + REWARD - action_size
        seen = labelled - 2 * self.size
        reached, wanted = rows[..., seen : seen + self.size], rows[..., seen + self.size : labelled]
        reward = self.weight * rows[..., REWARD] * similarity(reached, wanted, self.length_scale)
        if self.wanted is not None:
            wanted = jnp.broadcast_to(self.wanted[:, None], wanted.shape)
        following = self.transitions.rows[successors(self.transitions, slots), :seen]
        observation = jnp.concatenate([scale_observations(rows[..., :seen], self.scaling), wanted], axis=-1)
        action = rows[..., labelled : labelled + action_size]
        return Batch(
            pair=jnp.concatenate([observation, action], axis=-1),
            observation=observation,
            reward=reward,
            continues=rows[..., CONTINUES],
            following=jnp.concatenate([scale_observations(following, self.scaling), wanted], axis=-1),
        )


def similarity(first: jax.Array, second: jax.Array, length_scale: float) -> jax.Array:
    """How alike behaviours [..., D] are, [...] from 0 to 1."""
    return jnp.exp(-jnp.sqrt(jnp.sum((first - second) ** 2, axis=-1) + 1e-12) / length_scale)
