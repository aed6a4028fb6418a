"""Random network distillation (Burda et al., ICLR 2019): a bonus where a prediction of a fixed random network fails.

Observations are normalised by running statistics and clipped at ±5. The bonus is the mean squared error over the
embedding, divided by the standard deviation of a running discounted sum of bonuses, and not centred.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from qdpg.learn.backprop import forward, parameter_gradient
from qdpg.learn.networks import MLP, init_mlp

_CLIP = 5.0


class Moments(NamedTuple):
    """Running mean and variance."""

    number: float  # of samples so far
    mean: np.ndarray  # [...] float64
    variance: np.ndarray  # [...] float64


class Distillation(NamedTuple):
    """All that the bonus depends on."""

    target: MLP  # drawn once and never trained
    predictor: MLP
    optimiser: Any
    observations: Moments  # [O]
    sums: Moments  # [], of discounted sums of bonuses
    running: np.ndarray  # [N] float64, those sums, one for each episode of a generation; they do not end with episodes


class Bonus(eqx.Module):
    """The bonus as the engine takes it: a function of observations."""

    target: MLP
    predictor: MLP
    mean: jax.Array  # [O]
    deviation: jax.Array  # [O]
    factor: jax.Array  # [], weight over scale

    def __call__(self, observations: jax.Array) -> jax.Array:
        """Return the bonus [..., B] of observations [..., B, O]."""
        return self.factor * prediction_error(
            self.target, self.predictor, normalise(observations, self.mean, self.deviation)
        )


def init_distillation(key: jax.Array, sizes: tuple[int, ...], episodes: int) -> Distillation:
    """Draw target and predictor.

    Args:
        key: Random key.
        sizes: Widths of both, from observation to embedding.
        episodes: Episodes per generation.
    """
    target, predictor = (init_mlp(jax.random.fold_in(key, i), sizes, output="linear") for i in (0, 1))
    none = Moments(0.0, np.zeros(sizes[0]), np.ones(sizes[0]))
    optimiser = optax.scale_by_adam().init(predictor)
    return Distillation(target, predictor, optimiser, none, Moments(0.0, np.zeros(()), np.ones(())), np.zeros(episodes))


def make_bonus(state: Distillation, weight: float) -> Bonus:
    """The bonus as it is now, times `weight`; nothing while its scale is unknown."""
    scale = float(np.sqrt(state.sums.variance))
    factor = weight / scale if state.sums.number and scale > 0 else 0.0
    return Bonus(state.target, state.predictor, *_statistics(state.observations), jnp.float32(factor))


def observe(state: Distillation, states: np.ndarray, played: np.ndarray, discount: float) -> Distillation:
    """Take new episodes into the statistics.

    Args:
        state: What was known.
        states: [N, T, O] float32, next observations of N episodes.
        played: [N, T] bool, which of them there were.
        discount: γ of the running sums of bonuses.
    """
    observations = update_moments(state.observations, states[played])
    errors = np.asarray(_errors(state.target, state.predictor, states, *_statistics(observations)), np.float64)
    running, sums = state.running, np.zeros(played.shape)
    for t in range(played.shape[1]):
        running = np.where(played[:, t], discount * running + errors[:, t], running)
        sums[:, t] = running
    return state._replace(observations=observations, sums=update_moments(state.sums, sums[played]), running=running)


def train_predictor(
    state: Distillation,
    states: np.ndarray,
    played: np.ndarray,
    key: jax.Array,
    steps: int,
    rate: float,
    batch_size: int,
) -> Distillation:
    """Show the predictor new states in minibatches drawn with replacement.

    Args:
        state: What was known.
        states: [N, T, O] float32; see `observe`.
        played: [N, T] bool.
        key: Random key.
        steps: Minibatches.
        rate: Learning rate.
        batch_size: Of the minibatches.
    """
    number = int(played.sum())
    rows = np.concatenate([np.flatnonzero(played), np.flatnonzero(~played)])  # one shape, however long episodes are
    networks = (state.target, state.predictor, state.optimiser, *_statistics(state.observations))
    flat = states.reshape(-1, states.shape[-1])
    predictor, optimiser = _distil(networks, flat, rows, number, key, steps, rate, batch_size=batch_size)
    return state._replace(predictor=predictor, optimiser=optimiser)


@functools.partial(jax.jit, static_argnames=("batch_size",))
def _distil(
    networks: tuple[MLP, MLP, Any, jax.Array, jax.Array],
    states: jax.Array,
    rows: jax.Array,
    number: jax.Array,
    key: jax.Array,
    steps: jax.Array,
    rate: float,
    *,
    batch_size: int,
) -> tuple[MLP, Any]:
    """Take `steps` steps on minibatches of the first `number` of `rows` [m] of `states` [m, O]."""
    target, predictor, optimiser, mean, deviation = networks

    def step(i: jax.Array, carry: tuple[MLP, Any]) -> tuple[MLP, Any]:
        predictor, optimiser = carry
        chosen = rows[jax.random.randint(jax.random.fold_in(key, i), (batch_size,), 0, number)]
        x = normalise(states[chosen], mean, deviation)
        passed = forward(predictor, x)
        missed = passed.output - forward(target, x).output
        gradient = parameter_gradient(predictor, passed, 2.0 * missed / missed.size)
        direction, optimiser = optax.scale_by_adam().update(gradient, optimiser)
        return jax.tree.map(lambda p, d: p - rate * d, predictor, direction), optimiser

    return jax.lax.fori_loop(0, steps, step, (predictor, optimiser))


def normalise(observations: jax.Array, mean: jax.Array, deviation: jax.Array) -> jax.Array:
    """Standardise observations [..., O], and clip them."""
    return jnp.clip((observations - mean) / deviation, -_CLIP, _CLIP)


def prediction_error(target: MLP, predictor: MLP, x: jax.Array) -> jax.Array:
    """Mean squared error over the embedding, [..., B], at normalised observations [..., B, O]."""
    return jnp.mean((forward(predictor, x).output - forward(target, x).output) ** 2, axis=-1)


def update_moments(moments: Moments, samples: np.ndarray) -> Moments:
    """Take `samples` [m, ...] into running moments."""
    new, total = len(samples), moments.number + len(samples)
    mean, variance = samples.mean(axis=0, dtype=np.float64), samples.var(axis=0, dtype=np.float64)
    offset = mean - moments.mean
    spread = (moments.number * moments.variance + new * variance + offset**2 * moments.number * new / total) / total
    return Moments(float(total), moments.mean + offset * new / total, spread)


def _statistics(moments: Moments) -> tuple[jax.Array, jax.Array]:
    """Mean and deviation for `normalise`; what never varies is left at zero."""
    deviation = np.sqrt(np.maximum(moments.variance, 1e-12))
    return jnp.asarray(moments.mean, jnp.float32), jnp.asarray(deviation, jnp.float32)


@jax.jit
def _errors(target: MLP, predictor: MLP, states: jax.Array, mean: jax.Array, deviation: jax.Array) -> jax.Array:
    """Prediction errors [..., B] at observations [..., B, O]."""
    return prediction_error(target, predictor, normalise(states, mean, deviation))
