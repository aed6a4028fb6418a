"""TD3 for a population: n actors, each with its own minibatches, and twin critics that they share.

Twin Delayed DDPG (Fujimoto et al., 2018): targets smoothed with clipped noise, the smaller of two target critics,
actors updated every `delay` critic steps, targets followed softly. With n = 1 this is TD3 itself; with n > 1 the critic
gradients of the actors are averaged, as in QD-PG. All functions are pure; the number of steps is not part of any shape.

Two things that variants of TD3 add are optional and cost nothing when they are absent: a bonus on the reward that is
computed for every minibatch, and a pull of the actors towards another policy. Actors end in a tanh, as TD3's do, or in
a linear layer whose output is clipped to the actions' range; these climb by inverting gradients (Hausknecht and Stone,
2016), so that an action at the end of its range can always come back, which deep in a tanh it cannot.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from qdpg.learn.backprop import forward, input_gradient, parameter_gradient
from qdpg.learn.draws import random_bits, random_normal
from qdpg.learn.networks import MLP, Activation, init_population
from qdpg.memory.replay import CONTINUES, NOVELTY, REWARD, ReplayView

# Which directions in the space of descriptors critics see behind the observation: none; random ones, so that they learn
# what a step is worth to whoever wants to go there, the more the longer they are; random ones whose length says
# nothing; or those in which novelty grows fastest.
Directions = Literal["none", "drawn", "pointing", "novel"]


@dataclass(frozen=True)
class ActorCriticSettings:
    """What updates with twin critics need to know. Hashable: it is a static argument of compiled functions."""

    batch_size: int = 256
    discount: float = 0.99
    softness: float = 0.005  # τ of the soft target updates
    optimiser: Literal["adam", "sgd"] = "adam"
    actor_rate: float = 3e-4
    critic_rate: float = 3e-4
    critic_hidden: Activation = "relu"  # activation in critics


@dataclass(frozen=True)
class TD3Settings(ActorCriticSettings):
    """What TD3's update needs to know besides."""

    delay: int = 2  # critic steps per actor step
    target_noise: float = 0.2  # σ of target policy smoothing, in units of the largest action
    target_noise_clip: float = 0.5
    loss: Literal["mean", "sum"] = "mean"  # over the minibatch
    scale: tuple[float, ...] = ()  # [O] what networks see observations divided by; empty for nothing
    shaped: bool = False  # whether the novelty reached counts, or what was gained in it; see `gain`
    reach: float = 1.0  # how far the last layer of actors without a tanh may go; actions end at 1
    directions: Directions = "none"  # what critics know directions for; see `_draw`
    quarter_turn: tuple[
        tuple[tuple[int, int], ...], ...
    ] = ()  # see `TaskSpec`; then quarters of minibatches are turned


Numbers = TypeVar("Numbers", jax.Array, np.ndarray)

_CACHE = 2**19  # bytes, of a core's own cache

Twins = tuple[MLP, MLP]  # apart, not stacked: products of the two are faster one by one


class Critics(NamedTuple):
    """Twin critics."""

    online: Twins
    target: Twins
    optimiser: Any


class Actors(NamedTuple):
    """n policies being improved: leaves have a leading axis n."""

    online: MLP
    target: MLP
    optimiser: Any
    rates: jax.Array  # [n] float32, learning rates


class Pull(NamedTuple):
    """What draws actors towards other policies: `strength` times half the mean square of the difference of actions."""

    policies: MLP  # n of them, one for each actor
    strength: jax.Array  # [n] float32


class Batch(NamedTuple):
    """Minibatches of n actors; leading axes [n, B], or [B] of one."""

    pair: jax.Array  # observation and action, joined as they are stored
    observation: jax.Array
    reward: jax.Array
    continues: jax.Array  # 0 where the episode really ended, else 1
    following: jax.Array  # next observation


def init_critics(key: jax.Array, sizes: tuple[int, ...], settings: ActorCriticSettings) -> Critics:
    """Draw twin critics of widths `sizes` (O + A, hidden …, 1); the targets start as copies."""
    both = init_population(key, 2, sizes, settings.critic_hidden, "linear")
    online = (jax.tree.map(lambda leaf: leaf[0], both), jax.tree.map(lambda leaf: leaf[1], both))
    return Critics(online, online, direction(settings).init(online))


def init_actors(population: MLP, settings: TD3Settings, rates: np.ndarray | None = None) -> Actors:
    """Make n policies ready for improvement: targets start as copies, optimisers afresh.

    Args:
        population: n policies.
        settings: Hyper-parameters.
        rates: [n] learning rates; all `settings.actor_rate` if not given.
    """
    population = jax.tree.map(jnp.asarray, population)
    if rates is None:
        rates = np.full(len(population.biases[0]), settings.actor_rate)
    return Actors(population, population, direction(settings).init(population), jnp.asarray(rates, jnp.float32))


def direction(settings: ActorCriticSettings) -> optax.GradientTransformation:
    """What turns gradients into steps of learning rate one."""
    return optax.scale_by_adam() if settings.optimiser == "adam" else optax.identity()


@functools.partial(jax.jit, static_argnames=("settings", "train_critics", "train_actors"))
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
    train_actors: bool = True,
    bonus: Callable[[jax.Array], jax.Array] | None = None,
    pull: Pull | None = None,
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
        train_actors: False keeps the actors frozen.
        bonus: A pytree that maps next observations [n, B, O], as networks see them, to what is added to their rewards
            [n, B].
        pull: Towards which policies the actors are drawn, and how strongly.
    """
    number, actions = actors.online.biases[-1].shape[0], actors.online.sizes[-1]
    sizes = (replay.rows.shape[-1] + REWARD - actions, actions)
    words = jax.random.bits(key, (2,), jnp.uint32)
    draw = functools.partial(_draw, replay, weights, words, number, sizes, settings, bonus=bonus)

    if not train_critics:

        def ascend(i: jax.Array, actors: Actors) -> Actors:
            return update_actors(actors, critics, draw(first + i)[0], settings, pull)

        return jax.lax.fori_loop(0, steps, ascend, actors), critics

    def critic_step(i: jax.Array, actors: Actors, critics: Critics) -> tuple[Critics, Batch]:
        batch, noise = draw(first + i)
        return update_critics(critics, actors.target, batch, noise, settings), batch

    def block(j: jax.Array, carry: tuple[Actors, Critics]) -> tuple[Actors, Critics]:
        """`delay` critic steps, then one actor step on the last of their minibatches."""
        actors, critics = carry
        for k in range(settings.delay):
            critics, batch = critic_step(j * settings.delay + k, actors, critics)
        return update_actors(actors, critics, batch, settings, pull), critics

    blocks = steps // settings.delay if train_actors else 0
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
    bonus: Callable[[jax.Array], jax.Array] | None = None,
) -> tuple[Batch, jax.Array]:
    """Draw the minibatches of one step, uniformly with replacement, and the noise of its target actions [n, B, A]."""
    shape = (number, settings.batch_size)
    slots = draw_slots(replay, key, step, shape)
    shaping, directions = settings.discount if settings.shaped else None, None
    is_pointing = settings.directions == "pointing"
    if is_pointing or settings.directions == "drawn":
        least = 0.0 if is_pointing else 0.25
        directions = draw_directions(key, step, (*shape, replay.descriptors.shape[-1]), least)
    elif settings.directions == "novel":
        directions = replay.slopes[slots]
    turn = settings.quarter_turn if settings.directions != "novel" else ()
    batch = take_batch(replay, weights, slots, sizes, settings.scale, bonus, shaping, directions, is_pointing, turn)
    noise = settings.target_noise * random_normal(key, step, (*shape, sizes[1]), stream=1)
    return batch, jnp.clip(noise, -settings.target_noise_clip, settings.target_noise_clip)


def draw_slots(replay: ReplayView, key: jax.Array, step: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Draw the transitions of one step's minibatches, uniformly with replacement, as slots of the replay memory."""
    return replay.playable[random_bits(key, step, shape) % replay.number.astype(jnp.uint32)]


def draw_directions(key: jax.Array, step: jax.Array, shape: tuple[int, ...], least: float) -> jax.Array:
    """Draw directions [..., D] of lengths from `least` to 1.75."""
    normal = random_normal(key, step, shape, stream=2)
    unit = normal / jnp.sqrt(jnp.sum(normal * normal, axis=-1, keepdims=True) + 1e-12)
    share = (random_bits(key, step, (*shape[:-1], 1), stream=3) >> 8).astype(jnp.float32) * 2.0**-24
    return (least + (1.75 - least) * share) * unit


def take_batch(
    replay: ReplayView,
    weights: jax.Array,
    slots: jax.Array,
    sizes: tuple[int, int],
    scale: tuple[float, ...] = (),
    bonus: Callable[[jax.Array], jax.Array] | None = None,
    shaping: float | None = None,
    directions: jax.Array | None = None,
    is_pointing: bool = False,
    quarter_turn: tuple[tuple[tuple[int, int], ...], ...] = (),
) -> Batch:
    """Read the transitions in `slots` [...]; `sizes` are those of observations and actions; see `improve`.

    With a discount as `shaping`, novelty counts as its gain; see `gain`. With `directions` [..., D], what counts
    instead is how far the step went there, in descriptors, and they are seen as part of the observation; times their
    length, unless with `is_pointing` only where they point counts. With a `quarter_turn`, each quarter of the minibatch
    is seen as if it had happened one more quarter turn to the left.
    """
    observation_size, action_size = sizes
    rows = replay.rows[slots]
    after = (slots + 1) % replay.rows.shape[0]
    following = replay.rows[after, :observation_size]
    novelty = rows[..., NOVELTY]
    if shaping is not None:
        novelty = gain(novelty, replay.rows[after, NOVELTY], rows[..., CONTINUES], shaping)
    if directions is not None:
        novelty = jnp.sum(directions * (replay.descriptors[after] - replay.descriptors[slots]), axis=-1)
        if is_pointing:
            novelty /= jnp.sqrt(jnp.sum(directions * directions, axis=-1) + 1e-12)
    reward = weights[0] * rows[..., REWARD] + weights[1] * novelty
    if quarter_turn and directions is not None:
        observed, acted = quarter_turn
        moved = tuple((observation_size + source, sign) for source, sign in acted)
        rest = tuple((source, 1) for source in range(observation_size + action_size, rows.shape[-1]))
        rows, following = turn_quarters(rows, (*observed, *moved, *rest)), turn_quarters(following, observed)
        directions = turn_quarters(directions, ((1, -1), (0, 1)))
    if scale:
        factors = 1.0 / np.array(scale, np.float32)
        rows *= np.append(factors, np.ones(rows.shape[-1] - observation_size, np.float32))
        following *= factors
    pair, observation = rows[..., : observation_size + action_size], rows[..., :observation_size]
    if directions is not None:
        observation = jnp.concatenate([observation, directions], axis=-1)
        following = jnp.concatenate([following, directions], axis=-1)
        pair = jnp.concatenate([observation, pair[..., observation_size:]], axis=-1)
    return Batch(
        pair=pair,
        observation=observation,
        reward=reward if bonus is None else reward + bonus(following),
        continues=rows[..., CONTINUES],
        following=following,
    )


def turn_quarters(rows: jax.Array, turn: tuple[tuple[int, int], ...]) -> jax.Array:
    """Turn each quarter of [..., B, R] once more than the one before; `turn` has source and sign of each column."""
    sources, signs = np.array(turn).T
    before, sign, quarters = np.arange(len(turn)), np.ones(len(turn), np.float32), []
    for quarter in jnp.array_split(rows, 4, axis=-2):
        quarters.append(quarter[..., before] * sign)
        before, sign = before[sources], sign[sources] * signs.astype(np.float32)
    return jnp.concatenate(quarters, axis=-2)


def gain(before: Numbers, after: Numbers, continues: Numbers, discount: float) -> Numbers:
    """What was gained by a step in a quantity that its states have, such as novelty.

    This is 1 - γ times the quantity in the state reached, shaped with the quantity as potential (Ng et al., 1999):
    values change by what does not depend on the action, so policies are ranked as before. But the value of an action is
    no longer a small difference of large numbers, hard to learn when a step moves a body by a few centimetres.
    """
    return (1.0 - discount + discount * continues) * after - before


def update_critics(critics: Critics, policies: MLP, batch: Batch, noise: jax.Array, settings: TD3Settings) -> Critics:
    """One step of the twin critics on the batches of all actors, then a soft step of their targets.

    Args:
        critics: What is updated.
        policies: The n target policies that choose the next actions.
        batch: [n, B] transitions.
        noise: [n, B, A] target smoothing noise.
        settings: Hyper-parameters.
    """
    # The loss is the mean over actors of each one's loss over its minibatch, summed over the twins.
    scale = 2.0 / (batch.reward.size if settings.loss == "mean" else batch.reward.shape[0])

    def add_gradient(total: Twins, group: tuple[MLP, Batch, jax.Array]) -> tuple[Twins, None]:
        policies, batch, noise = group
        action = jnp.clip(forward(policies, batch.following).output + noise, -1.0, 1.0)
        following = [forward(target, _flat(batch.following), _flat(action)).output for target in critics.target]
        # All of [m, 1] from here on, m transitions.
        reward, continues = batch.reward.reshape(-1, 1), batch.continues.reshape(-1, 1)
        goal = reward + settings.discount * continues * jnp.minimum(*following)
        gradient = critic_gradient(critics.online, _flat(batch.pair), goal, scale)
        return jax.tree.map(jnp.add, total, gradient), None

    groups = _count_groups(batch.reward.shape, critics.online[0])
    split = jax.tree.map(lambda x: x.reshape(groups, -1, *x.shape[1:]), (policies, batch, noise))
    none = jax.tree.map(jnp.zeros_like, critics.online)
    gradient, _ = jax.lax.scan(add_gradient, none, split)
    return step_critics(critics, gradient, settings)


def _count_groups(shape: tuple[int, ...], critic: MLP) -> int:
    """In how many groups the actors' minibatches [n, B] pass through the critics: all at once, or one by one.

    Wide layers of many transitions do not fit into a core's cache; then one by one is about 6 % faster.
    """
    widest = max(bias.shape[-1] for bias in critic.biases)
    return shape[0] if 4 * widest * shape[0] * shape[1] > _CACHE else 1


def critic_gradient(online: Twins, pair: jax.Array, goal: jax.Array, scale: float) -> Twins:
    """Gradient of the twin critics' squared errors.

    Args:
        online: The twins.
        pair: [m, O + A] observations and actions.
        goal: [m, 1] values that they are to have.
        scale: Factor from their errors to the gradient of the loss.
    """
    passes = [forward(critic, pair) for critic in online]
    first, second = (
        parameter_gradient(critic, passed, scale * (passed.output - goal))
        for critic, passed in zip(online, passes, strict=True)
    )
    return first, second


def step_critics(critics: Critics, gradient: Twins, settings: ActorCriticSettings) -> Critics:
    """One step of the twin critics down a gradient, then a soft step of their targets."""
    steps, state = direction(settings).update(gradient, critics.optimiser)
    online = jax.tree.map(lambda p, step: p - settings.critic_rate * step, critics.online, steps)
    return Critics(online, _follow(critics.target, online, settings.softness), state)


def update_actors(
    actors: Actors, critics: Critics, batch: Batch, settings: TD3Settings, pull: Pull | None = None
) -> Actors:
    """One step of every actor up its own deterministic policy gradient on the first critic, then its target's."""
    critic = critics.online[0]
    acted = forward(actors.online, batch.observation[..., : actors.online.sizes[0]])  # some see no directions
    clipped = actors.online.output == "linear"
    action = jnp.clip(acted.output, -1.0, 1.0) if clipped else acted.output
    valued = forward(critic, _flat(batch.observation), _flat(action))
    # Each actor's loss is minus the mean (or sum) of its own values.
    loss = jnp.full_like(valued.output, -1.0 / (settings.batch_size if settings.loss == "mean" else 1))
    slope = input_gradient(critic, valued, loss).reshape(action.shape)
    if pull is not None:
        towards = forward(pull.policies, batch.observation).output
        share = 1.0 / (towards.shape[-1] * (settings.batch_size if settings.loss == "mean" else 1))
        slope += share * pull.strength[:, None, None] * (action - towards)
    if clipped:
        # Inverting gradients: the way out of the reach is braked more and more, the way back never.
        part = acted.output / settings.reach
        slope *= jnp.where(slope < 0, 1.0 - part, 1.0 + part)
    gradient = parameter_gradient(actors.online, acted, slope)
    steps, state = direction(settings).update(gradient, actors.optimiser)
    online = jax.tree.map(
        lambda p, step: p - actors.rates.reshape(-1, *[1] * (p.ndim - 1)) * step, actors.online, steps
    )
    return Actors(online, _follow(actors.target, online, settings.softness), state, actors.rates)


def _flat(x: jax.Array) -> jax.Array:
    """[n, B, width] as [n · B, width]: the critics are the same for all actors."""
    return x.reshape(-1, x.shape[-1])


def _follow(target: Any, online: Any, softness: float) -> Any:
    """Move the target a little way towards the online network."""
    return jax.tree.map(lambda t, o: t + softness * (o - t), target, online)
