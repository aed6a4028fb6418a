"""TD3 for a population: n actors, each with its own minibatches, and twin critics that they share.

Twin Delayed DDPG (Fujimoto et al., 2018): targets smoothed with clipped noise, the smaller of two target critics,
actors updated every `delay` critic steps, targets followed softly. With n = 1 this is TD3 itself; with n > 1 the critic
gradients of the actors are averaged, as in QD-PG. All functions are pure; the number of steps is not part of any shape.

Where minibatches come from, and what reward they hold, is a function that is handed in. A pull of the actors towards
another policy is optional and costs nothing when it is absent. Actors end in a tanh, as TD3's do, or in
a linear layer whose output is clipped to the actions' range; these climb by inverting gradients (Hausknecht and Stone,
2016), so that an action at the end of its range can always come back, which deep in a tanh it cannot.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from qdpg.learn.backprop import forward, input_gradient, parameter_gradient
from qdpg.learn.draws import random_normal
from qdpg.learn.networks import MLP, init_population
from qdpg.learn.transitions import Batch, Minibatches
from qdpg.ranges import Count, NotNegative, Positive, Share


@dataclass(frozen=True)
class TwinCriticOptions:
    """What a user may set of updates with twin critics.

    Attributes:
        batch_size: Transitions of each policy's minibatch.
        softness: τ, the part of the way that targets follow at every step.
        optimiser: What turns gradients into steps.
        actor_rate: Learning rate of policies.
        critic_rate: Learning rate of critics.
        critic_hidden: Activation in critics; "normed" is a ReLU divided by its layer's root mean square.
    """

    batch_size: Count = 256
    softness: Share = 0.005
    optimiser: Literal["adam", "sgd"] = "adam"
    actor_rate: NotNegative = 3e-4
    critic_rate: NotNegative = 3e-4
    critic_hidden: Literal["relu", "normed"] = "relu"


@dataclass(frozen=True)
class TD3Options(TwinCriticOptions):
    """What a user may set of TD3's update besides.

    Attributes:
        target_noise: σ of target policy smoothing, in units of the largest action.
        target_noise_clip: Where that noise is cut.
        loss: Whether losses are means over the minibatch, or sums.
    """

    target_noise: NotNegative = 0.2
    target_noise_clip: NotNegative = 0.5
    loss: Literal["mean", "sum"] = "mean"


@dataclass(frozen=True)
class ActorCriticSettings(TwinCriticOptions):
    """What updates with twin critics need to know. Hashable: it is a static argument of compiled functions.

    Attributes:
        discount: γ, what a reward of the next step is worth beside one of this step.
    """

    discount: Share = 0.99


@dataclass(frozen=True)
class TD3Settings(ActorCriticSettings, TD3Options):
    """What TD3's update needs to know.

    Attributes:
        delay: Critic steps per actor step.
        action_bound: How far the last layer of actors without a tanh may go; actions end at 1.
    """

    delay: Count = 2
    action_bound: Positive = 1.0


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
    minibatches: Minibatches,
    key: jax.Array,
    first: jax.Array,
    steps: jax.Array,
    *,
    settings: TD3Settings,
    train_critics: bool = True,
    train_actors: bool = True,
    pull: Pull | None = None,
) -> tuple[Actors, Critics]:
    """Take `steps` gradient steps with every actor.

    Args:
        actors: n policies.
        critics: The twin critics they share.
        minibatches: What draws the transitions to learn from, with their rewards.
        key: Random key of the whole improvement.
        first: Number of steps of this improvement already taken, a multiple of `settings.delay`; splitting an
            improvement into several calls does not change it.
        steps: Steps to take now. Those beyond the last multiple of `settings.delay` train only the critics.
        settings: Hyper-parameters.
        train_critics: False keeps the critics frozen; then every step is an actor step.
        train_actors: False keeps the actors frozen.
        pull: Towards which policies the actors are drawn, and how strongly.
    """
    shape = (actors.online.biases[-1].shape[0], settings.batch_size)
    actions = actors.online.sizes[-1]
    words = jax.random.bits(key, (2,), jnp.uint32)

    def draw(step: jax.Array) -> Batch:
        return minibatches(words, step, shape, actions)

    if not train_critics:

        def ascend(i: jax.Array, actors: Actors) -> Actors:
            return update_actors(actors, critics, draw(first + i), settings, pull)

        return jax.lax.fori_loop(0, steps, ascend, actors), critics

    def critic_step(i: jax.Array, actors: Actors, critics: Critics) -> tuple[Critics, Batch]:
        batch, noise = draw(first + i), draw_target_noise(words, first + i, (*shape, actions), settings)
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


def draw_target_noise(key: jax.Array, step: jax.Array, shape: tuple[int, int, int], settings: TD3Settings) -> jax.Array:
    """Draw the clipped noise of one step's target actions, `shape` [n, B, A]."""
    noise = settings.target_noise * random_normal(key, step, shape, stream=1)
    return jnp.clip(noise, -settings.target_noise_clip, settings.target_noise_clip)


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
        towards = jnp.clip(forward(pull.policies, batch.observation).output, -1.0, 1.0)
        share = 1.0 / (towards.shape[-1] * (settings.batch_size if settings.loss == "mean" else 1))
        slope += share * pull.strength[:, None, None] * (action - towards)
    if clipped:
        # Inverting gradients: the way beyond the bound is braked more and more, the way back never.
        part = acted.output / settings.action_bound
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
