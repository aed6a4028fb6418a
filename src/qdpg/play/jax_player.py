"""Playing tasks written in JAX: N policies, N episodes, one compiled scan."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qdpg.learn.networks import ACTIVATIONS, MLP, deterministic, deviation
from qdpg.play.acting import NO_NOISE, Noise, RollIn, draw_noise
from qdpg.play.rollouts import Rollouts, concatenate, make_rollouts
from qdpg.tasks.task import JaxTask

# Above this width an unrolled product compiles too slowly, and a batched product is used instead.
_UNROLL = 64


class _Recorded(NamedTuple):
    """What a scan over T steps records; leaves are [T, N, ...]."""

    reward: jax.Array
    descriptor: jax.Array
    alive: jax.Array  # whether the step was played
    ended: jax.Array  # whether it was the last, by a real end
    observation: jax.Array | None
    action: jax.Array | None


def act(population: MLP, x: jax.Array, draws: jax.Array | None = None) -> jax.Array:
    """Apply each policy to its own observation: [N, O] -> [N, A]; see `Noise` for `draws` [N, A].

    Gaussian policies need draws; without them they are played as `deterministic` ones.
    """
    last = len(population.weights) - 1
    for layer, (weight, bias) in enumerate(zip(population.weights, population.biases, strict=True)):
        x = ACTIVATIONS[population.output if layer == last else population.hidden](_layer(weight, bias, x))
    if population.output == "gaussian" and draws is not None:
        mean, raw = jnp.split(x, 2, axis=1)
        return jnp.tanh(mean + deviation(raw) * draws)
    return jnp.clip(x if draws is None else x + draws, -1.0, 1.0)


def _layer(weight: jax.Array, bias: jax.Array, x: jax.Array) -> jax.Array:
    """The layer of each policy, [N, fan_in, fan_out] and [N, fan_out], applied to its own row of `x` [N, fan_in].

    Written as a sum in explicit order, agent by agent independent of N, so that an episode does not depend on who
    else plays; for these small networks it is also faster than a batched product.
    """
    if weight.shape[1] > _UNROLL:
        return jnp.einsum("ni,nij->nj", x, weight) + bias
    for i in range(weight.shape[1]):
        bias = bias + x[:, i : i + 1] * weight[:, i]
    return bias


class JaxPlayer:
    """Plays a `JaxTask`."""

    def __init__(self, task: JaxTask) -> None:
        self.task = task
        self._spec = task.spec

    def play(
        self,
        population: MLP,
        seeds: np.ndarray,
        *,
        noise: Noise = NO_NOISE,
        record: bool = True,
        roll_in: RollIn | None = None,
    ) -> Rollouts:
        """Play one episode per policy; see `Player.play`."""
        spec, seeds = self._spec, np.asarray(seeds)
        some_rolled_in = roll_in is not None and not roll_in.steps.all()
        if some_rolled_in or (population.output == "gaussian" and not np.all(noise.sigma)):
            return self._play_apart(population, seeds, noise, record, roll_in)
        draws = draw_noise(seeds, noise, spec.horizon, spec.action_size, roll_in)
        if draws is not None:
            draws = np.swapaxes(draws, 0, 1)
        led = None
        if roll_in is not None:
            guides = jax.tree.map(lambda leaf: leaf[roll_in.guides], population)
            led = guides, np.asarray(roll_in.steps, np.int32), np.asarray(roll_in.limits, np.int32)
            population = jax.tree.map(lambda leaf: leaf[: len(seeds)], population)
        first, recorded = jax.device_get(_scan(self.task, population, np.asarray(seeds, np.uint32), draws, record, led))
        lengths = recorded.alive.sum(axis=0).astype(np.int32)
        observation, descriptor = first

        def by_episode(after: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
            """[T, N, ...] -> [N, T, ...], with the reset's entry put in front if there is one."""
            stacked = after if before is None else np.concatenate([before[None], after])
            return np.ascontiguousarray(np.swapaxes(stacked, 0, 1))

        return make_rollouts(
            spec,
            seeds=seeds,
            noise=noise.sigma,
            lengths=lengths,
            terminated=recorded.ended.any(axis=0),
            rewards=by_episode(recorded.reward),
            descriptors=by_episode(recorded.descriptor, descriptor),
            observations=by_episode(recorded.observation, observation) if record else None,
            actions=by_episode(recorded.action) if record else None,
        )

    def _play_apart(
        self, population: MLP, seeds: np.ndarray, noise: Noise, record: bool, roll_in: RollIn | None
    ) -> Rollouts:
        """Play each kind of episode in a program of its own: with roll-in, noisy ones of Gaussian policies, others.

        Another program might round differently, and an elite is replayed by itself, as the plain policy that a Gaussian
        one without noise is.
        """
        is_gaussian = population.output == "gaussian"
        sigma = np.asarray(noise.sigma)
        sigma = sigma if sigma.ndim == 2 else np.broadcast_to(sigma, len(seeds))
        is_led = np.zeros(len(seeds), bool) if roll_in is None else roll_in.steps > 0
        is_drawn = np.full(len(seeds), is_gaussian) & sigma.reshape(len(seeds), -1).any(axis=1)
        groups = [
            np.flatnonzero((is_led == led) & (is_drawn == drawn)) for led in (False, True) for drawn in (False, True)
        ]
        groups = [rows for rows in groups if len(rows)]
        parts = []
        for rows in groups:
            rolling_in = None
            actors, number = rows, len(rows)
            if roll_in is not None and is_led[rows[0]]:
                actors = np.concatenate([rows, roll_in.guides[rows]])
                rolling_in = RollIn(np.arange(number, 2 * number), roll_in.steps[rows], roll_in.limits[rows])
            policies = jax.tree.map(lambda leaf, actors=actors: leaf[actors], population)
            if is_gaussian and not is_drawn[rows[0]]:
                policies = deterministic(policies)
            parts.append(
                self.play(
                    policies, seeds[rows], noise=noise._replace(sigma=sigma[rows]), record=record, roll_in=rolling_in
                )
            )
        return concatenate(parts).take(np.argsort(np.concatenate(groups)))


@functools.partial(jax.jit, static_argnums=(0, 4))
def _scan(
    task: JaxTask,
    population: MLP,
    seeds: jax.Array,
    draws: jax.Array | None,
    record: bool,
    led: tuple[MLP, jax.Array, jax.Array] | None,
) -> tuple[tuple[jax.Array, jax.Array], _Recorded]:
    """Reset and play to the horizon. After its end an episode stands still and records zeros.

    `led` are, for every episode, its guide, for how many steps that acts, and when it is cut off; see `RollIn`.
    """

    def step(
        carry: tuple[Any, jax.Array], now: tuple[jax.Array, jax.Array | None]
    ) -> tuple[tuple[Any, jax.Array], _Recorded]:
        (state, alive), (t, draw) = carry, now
        # Policy and task are compiled apart, so that both round as they do by themselves: in `TaskEnv`, `Policy.act`.
        seen = jax.lax.optimization_barrier(jax.vmap(task.observe)(state))
        action = act(population, seen, draw)
        if led is not None:
            guides, until, _ = led
            action = jnp.where((t < until)[:, None], act(guides, seen, draw), action)
        state, action = jax.lax.optimization_barrier((state, action))
        after, reward, ended = jax.lax.optimization_barrier(jax.vmap(task.step)(state, action))

        def where(new: jax.Array, old: jax.Array | float) -> jax.Array:
            return jnp.where(alive.reshape(-1, *[1] * (new.ndim - 1)), new, old)

        state = jax.tree.map(where, after, state)
        recorded = _Recorded(
            reward=where(reward, 0.0),
            descriptor=jax.vmap(task.describe)(state),
            alive=alive,
            ended=alive & ended,
            observation=where(jax.vmap(task.observe)(state), 0.0) if record else None,
            action=where(action, 0.0) if record else None,
        )
        over = ended if led is None else ended | (t + 1 == led[2])
        return (state, alive & ~over), recorded

    state = jax.vmap(lambda seed: task.reset(jax.random.key(seed)))(seeds)
    first = jax.vmap(task.observe)(state), jax.vmap(task.describe)(state)
    alive = jnp.ones(seeds.shape, bool)
    return first, jax.lax.scan(step, (state, alive), (jnp.arange(task.spec.horizon), draws))[1]
