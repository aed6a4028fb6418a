"""Proximal policy optimisation (Schulman et al., 2017) with generalised advantage estimation (2016).

Episodes are padded to one length, so that there is one compiled program; which rows are real is known by the order in
which minibatches take them. All functions are pure.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from qdpg.learn.gaussian import Gaussian, entropy, init_gaussian, log_density, standard_log_density
from qdpg.learn.networks import MLP, apply_mlp, init_mlp
from qdpg.ranges import Count, NotNegative, Positive, Share


@dataclass(frozen=True)
class PPOSettings:
    """What the update needs to know. Hashable, so that it can be a static argument of compiled functions.

    Attributes:
        batch_size: Of a minibatch, at most.
        epochs: How often every transition is used.
        discount: γ of the critic.
        trace_decay: λ of the advantages.
        ratio_clip: How far probabilities may move from those that acted, as a share.
        value_clip: How far values may move from those before the update.
        value_weight: Of the squared error of values.
        entropy_weight: Of the policy's entropy.
        actor_rate: Learning rate of the policy.
        critic_rate: Learning rate of the critic.
        gradient_clip: Largest norm of each network's gradient.
    """

    batch_size: Count = 512
    epochs: Count = 30
    discount: Share = 0.99
    trace_decay: Share = 0.95
    ratio_clip: Positive = 0.2
    value_clip: Positive = 1000.0
    value_weight: NotNegative = 0.25
    entropy_weight: NotNegative = 0.0
    actor_rate: NotNegative = 3e-4
    critic_rate: NotNegative = 3e-4
    gradient_clip: Positive = 0.5


class Learner(NamedTuple):
    """A Gaussian policy, and a critic that values states."""

    policy: Gaussian
    critic: MLP
    optimisers: tuple[Any, Any]  # of policy and critic


class Experience(NamedTuple):
    """What was played, as M = N · T rows, real or not."""

    observations: jax.Array  # [M, O]
    means: jax.Array  # [M, A] of the policy that acted
    actions: jax.Array  # [M, A], not clipped
    log_densities: jax.Array  # [M] of these actions
    values: jax.Array  # [M] before the update
    advantages: jax.Array  # [M]
    goals: jax.Array  # [M], what values should be


def init_learner(key: jax.Array, sizes: tuple[int, ...], std: float, settings: PPOSettings) -> Learner:
    """Draw policy and critic; `sizes` are the policy's widths from observation to action."""
    policy = init_gaussian(jax.random.fold_in(key, 0), sizes, std)
    critic = init_mlp(jax.random.fold_in(key, 1), (*sizes[:-1], 1), output="linear")
    critic = jax.tree.map(jnp.asarray, critic)
    actor_state = make_optimiser(settings.actor_rate, settings.gradient_clip).init(policy)
    return Learner(
        policy, critic, (actor_state, make_optimiser(settings.critic_rate, settings.gradient_clip).init(critic))
    )


def make_optimiser(rate: float | jax.Array, gradient_clip: float | jax.Array) -> optax.GradientTransformation:
    """Adam on gradients of bounded norm."""
    return optax.chain(optax.clip_by_global_norm(gradient_clip), optax.adam(rate, eps=1e-5))


def estimate_advantages(
    rewards: jax.Array,
    values: jax.Array,
    lengths: jax.Array,
    terminated: jax.Array,
    discount: float,
    trace_decay: float,
) -> jax.Array:
    """Advantages [N, T] of N episodes. A real end is worth nothing, a time limit what the critic says.

    Args:
        rewards: [N, T].
        values: [N, T + 1] of all states, the final one included.
        lengths: [N], steps played.
        terminated: [N] bool, True for a real end.
        discount: γ.
        trace_decay: λ.
    """
    time = jnp.arange(rewards.shape[1])
    is_last = time == lengths[:, None] - 1
    following = jnp.where(is_last & terminated[:, None], 0.0, values[:, 1:])
    surprises = jnp.where(time < lengths[:, None], rewards + discount * following - values[:, :-1], 0.0)

    def back(later: jax.Array, surprise: jax.Array) -> tuple[jax.Array, jax.Array]:
        advantage = surprise + discount * trace_decay * later
        return advantage, advantage

    return jax.lax.scan(back, jnp.zeros(len(rewards)), surprises.T, reverse=True)[1].T


@functools.partial(jax.jit, static_argnames="settings")
def make_experience(
    learner: Learner,
    observations: jax.Array,
    draws: jax.Array,
    rewards: jax.Array,
    lengths: jax.Array,
    terminated: jax.Array,
    *,
    settings: PPOSettings,
) -> Experience:
    """Turn N episodes of the learner's policy into what it learns from.

    Args:
        learner: Who played.
        observations: [N, T + 1, O].
        draws: [N, T, A], how many deviations each action was away from its mean.
        rewards: [N, T].
        lengths: [N], steps played.
        terminated: [N] bool.
        settings: Hyper-parameters.
    """
    values = apply_mlp(learner.critic, observations)[..., 0]
    advantages = estimate_advantages(rewards, values, lengths, terminated, settings.discount, settings.trace_decay)
    means = apply_mlp(learner.policy.mean, observations[:, :-1])
    experience = Experience(
        observations[:, :-1],
        means,
        means + jnp.exp(learner.policy.log_std) * draws,
        standard_log_density(draws, learner.policy.log_std),
        values[:, :-1],
        advantages,
        values[:, :-1] + advantages,
    )
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), experience)


def standardise(advantages: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Shift and scale advantages [M], so that those in `rows` have mean 0 and deviation 1."""
    real = advantages[rows].astype(np.float64)
    return ((advantages - real.mean()) / (real.std() + 1e-8)).astype(np.float32)


def draw_order(rng: np.random.Generator, rows: np.ndarray, capacity: int, settings: PPOSettings) -> tuple[Any, int]:
    """Draw the minibatches of all epochs: every row once per epoch, in minibatches of nearly equal size.

    Args:
        rng: Source of randomness.
        rows: [m] int, the real rows.
        capacity: M; the shape of the result depends on this, and not on m.
        settings: Hyper-parameters.

    Returns:
        [S, B] int32, rows of each minibatch, filled up with -1; and how many of the S are to be taken.
    """
    size = settings.batch_size
    order = np.full((settings.epochs * math.ceil(capacity / size), size), -1, np.int32)
    step = 0
    for _ in range(settings.epochs):
        for part in np.array_split(rng.permutation(rows), math.ceil(len(rows) / size)):
            order[step, : len(part)] = part
            step += 1
    return order, step


@functools.partial(jax.jit, static_argnames="settings")
def improve(
    learner: Learner, experience: Experience, order: jax.Array, steps: jax.Array, *, settings: PPOSettings
) -> Learner:
    """Take the first `steps` minibatches of `order`, see `draw_order`; advantages are used as they are."""
    actor = make_optimiser(settings.actor_rate, settings.gradient_clip)
    critic = make_optimiser(settings.critic_rate, settings.gradient_clip)

    def step(i: jax.Array, learner: Learner) -> Learner:
        batch, weights = take_batch(experience, order[i])
        slope = jax.grad(_policy_loss)(learner.policy, batch, weights, settings)
        moves, actor_state = actor.update(slope, learner.optimisers[0])
        slope = jax.grad(_value_loss)(learner.critic, batch, weights, settings)
        critic_moves, critic_state = critic.update(slope, learner.optimisers[1])
        return Learner(
            optax.apply_updates(learner.policy, moves),
            optax.apply_updates(learner.critic, critic_moves),
            (actor_state, critic_state),
        )

    return jax.lax.fori_loop(0, steps, step, learner)


def take_batch(rows: Any, order: jax.Array) -> tuple[Any, jax.Array]:
    """The rows [B, ...] of a minibatch, and their weights [B] in a mean, which are 0 where there is none."""
    real = (order >= 0).astype(jnp.float32)
    rows = jax.tree.map(lambda leaf: leaf[jnp.maximum(order, 0)], rows)  # the first row is always real
    return rows, real / real.sum()


def _policy_loss(policy: Gaussian, batch: Experience, weights: jax.Array, settings: PPOSettings) -> jax.Array:
    """The clipped surrogate, and the entropy's part."""
    ratio = jnp.exp(log_density(policy, batch.observations, batch.actions) - batch.log_densities)
    clipped = jnp.clip(ratio, 1 - settings.ratio_clip, 1 + settings.ratio_clip)
    gain = jnp.minimum(ratio * batch.advantages, clipped * batch.advantages)
    return -(weights * gain).sum() - settings.entropy_weight * entropy(policy)


def _value_loss(critic: MLP, batch: Experience, weights: jax.Array, settings: PPOSettings) -> jax.Array:
    """Squared errors [B] of values [B], the larger of those before and after clipping."""
    values = apply_mlp(critic, batch.observations)[..., 0]
    near = batch.values + jnp.clip(values - batch.values, -settings.value_clip, settings.value_clip)
    errors = jnp.maximum((values - batch.goals) ** 2, (near - batch.goals) ** 2)
    return settings.value_weight * (weights * errors).sum()
