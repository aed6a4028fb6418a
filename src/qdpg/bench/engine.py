"""How fast a population is improved: our engine, two peers, and what the machine's matrix product would allow.

The work is one gradient step of each of N agents with twin critics, an actor step every second time. Ours is done as
QD-PG does it, half of the agents for each objective, in two threads; the peers take all agents at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from qdpg.bench.plain_jax import make_plain_jax
from qdpg.bench.timing import time_alternating
from qdpg.bench.torch_peer import make_torch
from qdpg.learn.networks import init_population
from qdpg.learn.td3 import TD3Settings, improve, init_actors, init_critics
from qdpg.learn.transitions import CONTINUES, REWARD, UniformMinibatches
from qdpg.memory.replay import Replay


@dataclass(frozen=True)
class Workload:
    """A population to be improved."""

    agents: int
    observation_size: int
    action_size: int
    hidden: tuple[int, ...]
    batch_size: int = 256
    rows: int = 200_000  # of the replay memory
    steps: int = 20  # per turn


WORKLOADS = {
    "point": Workload(4, 2, 2, (64, 32), steps=200),
    "ant29": Workload(10, 29, 8, (256, 256)),
    "ant113": Workload(10, 113, 8, (256, 256)),
}
_SIDE = 2048  # of the matrices whose product is the yardstick


def measure_engine(turns: int = 5) -> dict[str, dict[str, float]]:
    """Measure all workloads. Without PyTorch (extra `bench`), the ratio to it is left out."""
    return {name: measure_workload(workload, turns) for name, workload in WORKLOADS.items()}


def measure_workload(workload: Workload, turns: int) -> dict[str, float]:
    """Let the contestants take turns on one workload."""
    w, replay = workload, fill_replay(workload)
    sizes = (w.observation_size, w.action_size)
    slots = replay.playable_slots()
    rows = replay.rows[slots]
    pairs = np.split(rows[:, : sum(sizes)], [sizes[0]], axis=1)
    following = replay.rows[(slots + 1) % replay.capacity, : sizes[0]]
    transitions = (*pairs, rows[:, REWARD], rows[:, CONTINUES], following)
    plain, start = make_plain_jax(w.agents, sizes, w.hidden, w.batch_size)
    on_device, key = tuple(map(jnp.asarray, transitions)), jax.random.key(0)
    square = jnp.ones((_SIDE, _SIDE))
    product = jax.jit(lambda a: a @ a)
    contestants = {
        "ours": make_ours(workload, replay),
        "plain_jax": lambda: jax.block_until_ready(plain(start, on_device, key, w.steps)),
        "matmul": lambda: product(square).block_until_ready(),
    }
    try:
        in_torch = make_torch(w.agents, sizes, w.hidden, w.batch_size, transitions)
        contestants["torch"] = lambda: in_torch(w.steps)
    except ImportError:
        pass
    best = time_alternating(contestants, turns)
    matmul_rate = 2 * _SIDE**3 / best["matmul"]
    result = {
        "agent_steps_per_s": w.agents * w.steps / best["ours"],
        "milliseconds": 1e3 * best["ours"] / w.steps,
        "ratio_to_plain_jax": best["plain_jax"] / best["ours"],
        "fraction_of_matmul": count_operations(workload) * w.steps / best["ours"] / matmul_rate,
        "matmul_gflops": matmul_rate / 1e9,
    }
    if "torch" in best:
        result["ratio_to_torch"] = best["torch"] / best["ours"]
    return result


def make_ours(workload: Workload, replay: Replay) -> Callable[[], Any]:
    """Return a function that takes the workload's steps with our engine, as QD-PG would."""
    w, settings = workload, TD3Settings(batch_size=workload.batch_size)
    critics = init_critics(jax.random.key(1), (w.observation_size + w.action_size, *w.hidden, 1), settings)
    halves = [
        init_actors(
            init_population(jax.random.key(i), number, (w.observation_size, *w.hidden, w.action_size)), settings
        )
        for i, number in enumerate((w.agents // 2, w.agents - w.agents // 2))
    ]
    pool = ThreadPoolExecutor(2)

    def improve_half(i: int) -> None:
        key, weights = jax.random.key(i, impl="rbg"), jnp.array([1.0 - i, float(i)])
        minibatches = UniformMinibatches(replay.view(), weights)
        result = improve(halves[i], critics, minibatches, key, 0, w.steps, settings=settings)
        jax.block_until_ready(result)

    return lambda: list(pool.map(improve_half, range(2)))


def count_operations(workload: Workload) -> float:
    """Floating-point operations of the products in one vector step, a multiplication and an addition apart.

    Only what the mathematics asks for: no gradient with respect to inputs that nobody needs.
    """
    w = workload

    def products(*widths: int) -> list[int]:
        return [fan_in * fan_out for fan_in, fan_out in itertools.pairwise(widths)]

    actor = products(w.observation_size, *w.hidden, w.action_size)
    critic = products(w.observation_size + w.action_size, *w.hidden, 1)
    target = sum(actor) + 2 * sum(critic)
    critic_step = 2 * (sum(critic) + sum(critic) + sum(critic[1:]))  # forward, weights, hidden layers
    to_action = sum(critic[1:]) + w.action_size * w.hidden[0]
    actor_step = sum(actor) + sum(critic) + to_action + sum(actor) + sum(actor[1:])
    return 2.0 * w.agents * w.batch_size * (target + critic_step + actor_step / 2)


def fill_replay(workload: Workload) -> Replay:
    """A full memory of random numbers."""
    w = workload
    replay = Replay(w.rows, w.observation_size, w.action_size, 2)
    replay.rows[:] = np.random.default_rng(0).normal(size=replay.rows.shape)
    replay.rows[:, CONTINUES] = 1.0
    replay.is_playable[:] = np.arange(w.rows) % 201 != 200
    replay.inserted = w.rows
    replay.index()
    return replay
