"""TD3 for a population: n actors, each with its own minibatches, and twin critics that they share.

Twin Delayed DDPG (Fujimoto et al., 2018): targets smoothed with clipped noise, the smaller of two target critics,
actors updated every `delay` critic steps, targets followed softly. With n = 1 this is TD3 itself; with n > 1 the critic
gradients of the actors are averaged, as in QD-PG. All functions are pure; the number of steps is not part of any shape.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax

from qdpg.learn.networks import MLP, apply_mlp, init_population
from qdpg.memory.replay import CONTINUES, NOVELTY, REWARD, ReplayView


@dataclass(frozen=True)
class TD3Settings:
    """What the update needs to know. Hashable, so that it can be a static argument of compiled functions."""

    batch_size: int = 256
    discount: float = 0.99
    softness: float = 0.005  # τ of the soft target updates
    delay: int = 2  # critic steps per actor step
    target_noise: float = 0.2  # σ of target policy smoothing, in units of the largest action
    target_noise_clip: float = 0.5
    optimiser: Literal["adam", "sgd"] = "adam"
    loss: Literal["mean", "sum"] = "mean"  # over the minibatch
    actor_rate: float = 3e-4
    critic_rate: float = 3e-4


class Critics(NamedTuple):
    """Twin critics: leaves have a leading axis of 2."""

    online: MLP
    target: MLP
    optimiser: Any


class Actors(NamedTuple):
    """n policies being improved: leaves have a leading axis n."""

    online: MLP
    target: MLP
    optimiser: Any


class Batch(NamedTuple):
    """Minibatches of n actors; leading axes [n, B]."""

    observation: jax.Array
    action: jax.Array
    reward: jax.Array
    continues: jax.Array  # 0 where the episode really ended, else 1
    following: jax.Array  # next observation


def init_critics(key: jax.Array, sizes: tuple[int, ...], settings: TD3Settings) -> Critics:
    """Draw twin critics of widths `sizes` (O + A, hidden …, 1); the targets start as copies."""
    online = init_population(key, 2, sizes, output="linear")
    return Critics(online, online, _optimiser(settings, settings.critic_rate).init(online))


def init_actors(population: MLP, settings: TD3Settings) -> Actors:
    """Make n policies ready for improvement: targets start as copies, optimisers afresh."""
    population = jax.tree.map(jnp.asarray, population)
    return Actors(population, population, _optimiser(settings, settings.actor_rate).init(population))


def _optimiser(settings: TD3Settings, rate: float) -> optax.GradientTransformation:
    return optax.adam(rate) if settings.optimiser == "adam" else optax.sgd(rate)


@functools.partial(jax.jit, static_argnames=("settings", "train_critics"))
def improve(
    actors: Actors,
    critics: Critics,
    replay: ReplayView,
    weights: jax.Array,
    key: jax.Array,
    first: jax.Array,
    steps: jax.Array,
    *,
    settings: TD3Settings,
    train_critics: bool = True,
) -> tuple[Actors, Critics]:
    """Take `steps` gradient steps with every actor.

    Args:
        actors: n policies.
        critics: The twin critics they share.
        replay: Where minibatches come from.
        weights: [2], of the environment's reward and of the novelty.
        key: Random key of the whole improvement.
        first: Number of steps of this improvement already taken, a multiple of `settings.delay`; splitting an
            improvement into several calls does not change it.
        steps: Steps to take now. Those beyond the last multiple of `settings.delay` train only the critics.
        settings: Hyper-parameters.
        train_critics: False keeps the critics frozen; then every step is an actor step.
    """
    number, sizes = actors.online.biases[-1].shape[0], (actors.online.sizes[0], actors.online.sizes[-1])
    draw = functools.partial(_draw, replay, weights, key, number, sizes, settings)

    if not train_critics:

        def ascend(i: jax.Array, actors: Actors) -> Actors:
            return update_actors(actors, critics, draw(first + i)[0], settings)

        return jax.lax.fori_loop(0, steps, ascend, actors), critics

    def critic_step(i: jax.Array, actors: Actors, critics: Critics) -> tuple[Critics, Batch]:
        batch, noise = draw(first + i)
        return update_critics(critics, actors.target, batch, noise, settings), batch

    def block(j: jax.Array, carry: tuple[Actors, Critics]) -> tuple[Actors, Critics]:
        """`delay` critic steps, then one actor step on the last of their minibatches."""
        actors, critics = carry
        for k in range(settings.delay):
            critics, batch = critic_step(j * settings.delay + k, actors, critics)
        return update_actors(actors, critics, batch, settings), critics

    blocks = steps // settings.delay
    actors, critics = jax.lax.fori_loop(0, blocks, block, (actors, critics))
    critics = jax.lax.fori_loop(
        blocks * settings.delay, steps, lambda i, critics: critic_step(i, actors, critics)[0], critics
    )
    return actors, critics


def _draw(
    replay: ReplayView,
    weights: jax.Array,
    key: jax.Array,
    number: int,
    sizes: tuple[int, int],
    settings: TD3Settings,
    step: jax.Array,
) -> tuple[Batch, jax.Array]:
    """Draw the minibatches of one step, uniformly with replacement, and the noise of its target actions [n, B, A]."""
    slot_key, noise_key = jax.random.split(jax.random.fold_in(key, step))
    observation_size, action_size = sizes
    shape = (number, settings.batch_size)
    bits = jax.random.bits(slot_key, shape, jnp.uint32)
    slots = replay.playable[bits % replay.number.astype(jnp.uint32)]
    rows = replay.rows[slots]
    following = replay.rows[(slots + 1) % replay.rows.shape[0], :observation_size]
    batch = Batch(
        observation=rows[..., :observation_size],
        action=rows[..., observation_size : observation_size + action_size],
        reward=weights[0] * rows[..., REWARD] + weights[1] * rows[..., NOVELTY],
        continues=rows[..., CONTINUES],
        following=following,
    )
    noise = settings.target_noise * jax.random.normal(noise_key, (*shape, action_size))
    return batch, jnp.clip(noise, -settings.target_noise_clip, settings.target_noise_clip)


def update_critics(critics: Critics, policies: MLP, batch: Batch, noise: jax.Array, settings: TD3Settings) -> Critics:
    """One step of the twin critics on the batches of all actors, then a soft step of their targets.

    Args:
        critics: What is updated.
        policies: The n target policies that choose the next actions.
        batch: [n, B] transitions.
        noise: [n, B, A] target smoothing noise.
        settings: Hyper-parameters.
    """
    action = jnp.clip(jax.vmap(apply_mlp)(policies, batch.following) + noise, -1.0, 1.0)
    following = values(critics.target, batch.following, action).min(axis=0)
    goal = batch.reward + settings.discount * batch.continues * following

    def loss(online: MLP) -> jax.Array:
        # The mean over actors of each one's loss over its minibatch, summed over the twins.
        error = values(online, batch.observation, batch.action) - goal
        return (error**2).mean() * 2 * (settings.batch_size if settings.loss == "sum" else 1)

    optimiser = _optimiser(settings, settings.critic_rate)
    updates, state = optimiser.update(jax.grad(loss)(critics.online), critics.optimiser)
    online = optax.apply_updates(critics.online, updates)
    return Critics(online, _follow(critics.target, online, settings.softness), state)


def update_actors(actors: Actors, critics: Critics, batch: Batch, settings: TD3Settings) -> Actors:
    """One step of every actor up its own deterministic policy gradient on the first critic, then its target's."""
    first = jax.tree.map(lambda leaf: leaf[:1], critics.online)

    def loss(online: MLP) -> jax.Array:
        # A sum over actors, so that each one's gradient is that of its own loss.
        action = jax.vmap(apply_mlp)(online, batch.observation)
        mean = values(first, batch.observation, action)[0].mean(axis=1)
        return -mean.sum() * (settings.batch_size if settings.loss == "sum" else 1)

    optimiser = _optimiser(settings, settings.actor_rate)
    updates, state = optimiser.update(jax.grad(loss)(actors.online), actors.optimiser)
    online = optax.apply_updates(actors.online, updates)
    return Actors(online, _follow(actors.target, online, settings.softness), state)


def values(critics: MLP, observation: jax.Array, action: jax.Array) -> jax.Array:
    """Q of every critic for [n, B] pairs: [critics, n, B]."""
    pairs = jnp.concatenate([observation, action], axis=-1)
    flat = pairs.reshape(-1, pairs.shape[-1])
    return jax.vmap(apply_mlp, (0, None))(critics, flat).reshape(-1, *pairs.shape[:-1])


def _follow(target: Any, online: Any, softness: float) -> Any:
    """Move the target a little way towards the online network."""
    return jax.tree.map(lambda t, o: t + softness * (o - t), target, online)
