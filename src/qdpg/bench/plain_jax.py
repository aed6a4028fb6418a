"""A peer for the engine: the same TD3 update of a population, as one would write it down first in JAX.

Automatic differentiation, `vmap`, Optax, inputs joined, JAX's own random numbers, one scan. Not used for training.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from qdpg.learn.networks import MLP, apply_mlp, init_population

Transitions = tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]  # s, a, r, continues, s'
State = tuple[MLP, MLP, Any, MLP, MLP, Any]  # actors, their targets and optimiser; twin critics, likewise


def make_plain_jax(number: int, sizes: tuple[int, int], hidden: tuple[int, ...], batch_size: int) -> tuple[Any, State]:
    """Return the update, `run(state, transitions, key, steps)`, and a state to start from.

    Args:
        number: n, actors.
        sizes: Of observations and actions.
        hidden: Hidden layers of actors and critics.
        batch_size: Minibatch of each actor.
    """
    observation_size, action_size = sizes
    optimiser = optax.adam(3e-4)
    actors = init_population(jax.random.key(0), number, (observation_size, *hidden, action_size))
    critics = init_population(jax.random.key(1), 2, (observation_size + action_size, *hidden, 1), output="linear")
    act: Callable[..., jax.Array] = jax.vmap(apply_mlp)

    def values(critics: MLP, observation: jax.Array, action: jax.Array) -> jax.Array:
        pairs = jnp.concatenate([observation, action], axis=-1)
        return jax.vmap(apply_mlp, (0, None))(critics, pairs)[..., 0]

    def step(state: State, key: jax.Array, transitions: Transitions) -> State:
        actors, actor_targets, actor_state, critics, critic_targets, critic_state = state
        slot_key, noise_key = jax.random.split(key)
        slots = jax.random.randint(slot_key, (number, batch_size), 0, len(transitions[2]))
        observation, action, reward, continues, following = (part[slots] for part in transitions)
        noise = jnp.clip(0.2 * jax.random.normal(noise_key, action.shape), -0.5, 0.5)
        next_action = jnp.clip(act(actor_targets, following) + noise, -1.0, 1.0)
        goal = reward + 0.99 * continues * values(critic_targets, following, next_action).min(axis=0)
        gradient = jax.grad(lambda c: ((values(c, observation, action) - goal) ** 2).mean() * 2)(critics)
        updates, critic_state = optimiser.update(gradient, critic_state)
        critics = optax.apply_updates(critics, updates)
        critic_targets = optax.incremental_update(critics, critic_targets, 0.005)

        def actor_step(actors: MLP, targets: MLP, state: Any) -> tuple[MLP, MLP, Any]:
            first = jax.tree.map(lambda leaf: leaf[:1], critics)
            loss = lambda a: -values(first, observation, act(a, observation))[0].mean(axis=1).sum()  # noqa: E731
            updates, state = optimiser.update(jax.grad(loss)(actors), state)
            actors = optax.apply_updates(actors, updates)
            return actors, optax.incremental_update(actors, targets, 0.005), state

        is_due = critic_state[0].count % 2 == 0
        actors, actor_targets, actor_state = jax.lax.cond(
            is_due, actor_step, lambda *same: same, actors, actor_targets, actor_state
        )
        return actors, actor_targets, actor_state, critics, critic_targets, critic_state

    @functools.partial(jax.jit, static_argnames="steps")
    def run(state: State, transitions: Transitions, key: jax.Array, steps: int) -> State:
        keys = jax.random.split(key, steps)
        return jax.lax.scan(lambda carry, k: (step(carry, k, transitions), None), state, keys)[0]

    return run, (actors, actors, optimiser.init(actors), critics, critics, optimiser.init(critics))
