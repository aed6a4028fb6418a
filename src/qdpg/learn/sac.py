"""Soft actor-critic (Haarnoja et al., 2018): a Gaussian policy that is paid for its entropy, and twin critics.

The policy acts with a = tanh(mean + deviation · draw). Critics learn reward plus entropy bonus, the policy climbs the
smaller of them plus the bonus, and the temperature, the price of entropy, follows the entropy to a target. There is no
target policy. All functions are pure; the number of steps is not part of any shape.

With a discriminator, the policy and the critics also see a skill, and the reward is how well the skill can be told from
the state that was reached (`learn/discriminator.py`); without one, nothing of it is in the compiled program.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from qdpg.learn.backprop import forward, input_gradient, parameter_gradient
from qdpg.learn.discriminator import Discriminator, skill_reward, update_discriminator
from qdpg.learn.draws import random_normal
from qdpg.learn.networks import LOG_DEVIATION, LOG_DEVIATION_RANGE, MLP
from qdpg.learn.td3 import (
    ActorCriticSettings,
    Critics,
    critic_gradient,
    direction,
    init_critics,
    step_critics,
)
from qdpg.learn.transitions import Batch, Scaling, Transitions, draw_slots, scale_batch, successors, take_batch
from qdpg.ranges import NotNegative, Number, Positive


@dataclass(frozen=True)
class SACSettings(ActorCriticSettings):
    """What the update needs to know besides.

    Attributes:
        start_temperature: α at the start.
        temperature_rate: Its learning rate; 0 keeps it as it is.
        entropy_per_action: Wanted entropy of the policy, per dimension of the action.
    """

    start_temperature: Positive = 1.0
    temperature_rate: NotNegative = 3e-4
    entropy_per_action: Number = -1.0


class Agent(NamedTuple):
    """A policy that is learning, and all that it learns with."""

    actor: MLP  # Gaussian
    optimiser: Any  # of the actor
    critics: Critics
    log_temperature: jax.Array  # [] float32
    temperature_optimiser: Any


class Drawn(NamedTuple):
    """Actions drawn from a Gaussian policy."""

    action: jax.Array  # [B, A]
    log_probability: jax.Array  # [B, 1]
    spread: jax.Array  # [B, A], deviation times draw
    squashed: jax.Array  # [B, A], tanh of what the last layer gave for the deviation


def init_agent(key: jax.Array, actor: MLP, critic_sizes: tuple[int, ...], settings: SACSettings) -> Agent:
    """Make a Gaussian policy ready to learn, with fresh critics of widths `critic_sizes`."""
    actor = jax.tree.map(jnp.asarray, actor)
    rule, temperature = direction(settings), jnp.float32(math.log(settings.start_temperature))
    return Agent(
        actor, rule.init(actor), init_critics(key, critic_sizes, settings), temperature, rule.init(temperature)
    )


@functools.partial(jax.jit, static_argnames=("settings",))
def improve(
    agent: Agent,
    discriminator: Discriminator | None,
    replay: Transitions,
    reward_scale: jax.Array,
    key: jax.Array,
    first: jax.Array,
    steps: jax.Array,
    scaling: Scaling | None = None,
    *,
    settings: SACSettings,
) -> tuple[Agent, Discriminator | None]:
    """Take `steps` gradient steps.

    Args:
        agent: What is improved.
        discriminator: If there is one, observations in `replay` have the number of a skill behind them; it replaces the
            environment's reward, afresh for every minibatch, and learns from the same one.
        replay: Where minibatches come from.
        reward_scale: Factor on the reward.
        key: Random key of the whole improvement.
        first: Number of steps of this improvement already taken; splitting it into several calls does not change it.
        steps: Steps to take now.
        scaling: How networks see observations; None for as they are. A discriminator sees them as they are.
        settings: Hyper-parameters.
    """
    words = jax.random.bits(key, (2,), jnp.uint32)

    def step(i: jax.Array, carry: tuple[Agent, Discriminator | None]) -> tuple[Agent, Discriminator | None]:
        agent, discriminator = carry
        batch, draws, discriminator = _draw(
            agent, discriminator, replay, reward_scale, words, first + i, settings, scaling
        )
        return update(agent, batch, draws, settings), discriminator

    return jax.lax.fori_loop(0, steps, step, (agent, discriminator))


def _draw(
    agent: Agent,
    discriminator: Discriminator | None,
    replay: Transitions,
    reward_scale: jax.Array,
    words: jax.Array,
    step: jax.Array,
    settings: SACSettings,
    scaling: Scaling | None = None,
) -> tuple[Batch, tuple[jax.Array, jax.Array], Discriminator | None]:
    """The minibatch [B] of one step, two normal draws [B, A], and the discriminator after that minibatch."""
    actions = agent.actor.sizes[-1] // 2
    slots = draw_slots(replay, words, step, (settings.batch_size,))
    weights = jnp.array([1.0, 0.0]) * reward_scale
    if discriminator is None:
        batch = take_batch(replay, weights, slots, actions, scaling)
    else:
        plain = take_batch(replay, weights, slots, actions)  # behind each observation the number of its skill
        skills = plain.observation[:, -1].astype(jnp.int32)
        reached = (
            replay.descriptors[successors(replay, slots)]
            if discriminator.seen == "descriptor"
            else plain.following[:, :-1]
        )
        batch = show_skills(scale_batch(plain, scaling), skills, discriminator.skills)._replace(
            reward=reward_scale * skill_reward(discriminator, reached, skills)
        )
        discriminator = update_discriminator(discriminator, reached, skills)
    now, then = (random_normal(words, step, (settings.batch_size, actions), stream=stream) for stream in (1, 2))
    return batch, (now, then), discriminator


def show_skills(batch: Batch, skills: jax.Array, number: int) -> Batch:
    """Write skills [B] as `number` zeros and ones where each observation has its skill's number behind it."""
    shown, stored = jax.nn.one_hot(skills, number), batch.observation.shape[1]
    observation = jnp.concatenate([batch.observation[:, :-1], shown], axis=1)
    return batch._replace(
        pair=jnp.concatenate([observation, batch.pair[:, stored:]], axis=1),
        observation=observation,
        following=jnp.concatenate([batch.following[:, :-1], shown], axis=1),
    )


def draw_actions(heads: jax.Array, draws: jax.Array) -> Drawn:
    """Actions with their log-probabilities, given what a policy's last layer gave [B, 2A] and normal draws [B, A]."""
    mean, raw = jnp.split(heads, 2, axis=-1)
    squashed = jnp.tanh(raw)
    log_deviation = LOG_DEVIATION + LOG_DEVIATION_RANGE * squashed
    spread = jnp.exp(log_deviation) * draws
    inner = mean + spread
    normal = -0.5 * draws**2 - log_deviation - 0.5 * math.log(2 * math.pi)
    # log(1 - tanh(x)²) written so that it stays exact where tanh(x) rounds to one.
    slope = 2.0 * (math.log(2.0) - inner - jax.nn.softplus(-2.0 * inner))
    return Drawn(jnp.tanh(inner), (normal - slope).sum(axis=-1, keepdims=True), spread, squashed)


def update(agent: Agent, batch: Batch, draws: tuple[jax.Array, jax.Array], settings: SACSettings) -> Agent:
    """One step of critics, policy and temperature on a minibatch [B], in this order; draws [B, A] for s and for s'."""
    temperature, (now, then) = jnp.exp(agent.log_temperature), draws
    critics = _update_critics(agent, batch, then, temperature, settings)
    passed = forward(agent.actor, batch.observation)
    drawn = draw_actions(passed.output, now)
    gradient = parameter_gradient(
        agent.actor, passed, _actor_gradient(drawn, critics, batch.observation, temperature) / settings.batch_size
    )
    rule = direction(settings)
    steps, optimiser = rule.update(gradient, agent.optimiser)
    actor = jax.tree.map(lambda p, step: p - settings.actor_rate * step, agent.actor, steps)

    # Minus α · (log π + target) has this slope with respect to log α.
    target = settings.entropy_per_action * now.shape[-1]
    slope = -temperature * (drawn.log_probability.mean() + target)
    step, temperature_optimiser = rule.update(slope, agent.temperature_optimiser)
    log_temperature = agent.log_temperature - settings.temperature_rate * step
    return Agent(actor, optimiser, critics, log_temperature, temperature_optimiser)


def _update_critics(
    agent: Agent, batch: Batch, draws: jax.Array, temperature: jax.Array, settings: SACSettings
) -> Critics:
    """One step of the twin critics towards reward and following value, entropy bonus included."""
    drawn = draw_actions(forward(agent.actor, batch.following).output, draws)
    values = [forward(target, batch.following, drawn.action).output for target in agent.critics.target]
    following = jnp.minimum(*values) - temperature * drawn.log_probability
    goal = batch.reward[:, None] + settings.discount * batch.continues[:, None] * following
    gradient = critic_gradient(agent.critics.online, batch.pair, goal, 2.0 / settings.batch_size)
    return step_critics(agent.critics, gradient, settings)


def _actor_gradient(drawn: Drawn, critics: Critics, observation: jax.Array, temperature: jax.Array) -> jax.Array:
    """Gradient [B, 2A] of α · log π - min Q with respect to what the policy's last layer gave."""
    passes = [forward(critic, observation, drawn.action) for critic in critics.online]
    first, second = (passed.output for passed in passes)
    is_first = (first <= second).astype(first.dtype)
    ascent = sum(
        input_gradient(critic, passed, share)
        for critic, passed, share in zip(critics.online, passes, (is_first, 1.0 - is_first), strict=True)
    )
    by_inner = temperature * 2.0 * drawn.action - ascent * (1.0 - drawn.action**2)
    by_log_deviation = by_inner * drawn.spread - temperature
    by_raw = by_log_deviation * LOG_DEVIATION_RANGE * (1.0 - drawn.squashed**2)
    return jnp.concatenate([by_inner, by_raw], axis=-1)
