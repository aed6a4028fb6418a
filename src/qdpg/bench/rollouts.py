"""How fast populations are played: the ants as a fraction of bare physics, point-maze in steps per second."""

from __future__ import annotations

import jax
import numpy as np

from qdpg.bench.timing import time_alternating
from qdpg.evaluation.evaluate import ROUND
from qdpg.learn.networks import MLP, init_population
from qdpg.play.mujoco_player import reset_batch
from qdpg.play.player import make_player
from qdpg.play.rollouts import Rollouts
from qdpg.tasks.registry import make_task
from qdpg.tasks.task import MujocoTask, Task


def measure_rollouts(turns: int = 5, ant_steps: int = 300) -> dict[str, dict[str, float]]:
    """Measure all three tasks.

    Args:
        turns: How often each contestant runs.
        ant_steps: Length of the ants' episodes; speed does not depend on it.
    """
    results = {name: _measure_ant(make_task(name, horizon=ant_steps), turns) for name in ("ant-maze", "ant-trap")}
    # What `qdpg evaluate` plays at a time: policies of DC-QD-PG's size, five starts each.
    task = make_task("ant-trap", horizon=ant_steps)
    results["ant-trap-evaluate"] = _measure_ant(task, turns, 20, (128, 128), starts=ROUND, record=False)
    maze = make_task("point-maze")
    for number in (4, 1024):
        results[f"point-maze-{number}"] = _measure_point_maze(maze, number, turns)
    return results


def _population(task: Task, number: int, *hidden: int) -> MLP:
    spec = task.spec
    return init_population(jax.random.key(0), number, (spec.observation_size, *hidden, spec.action_size))


def _measure_point_maze(task: Task, number: int, turns: int) -> dict[str, float]:
    player, population, seeds = make_player(task), _population(task, number, 64, 32), np.arange(number)
    steps = player.play(population, seeds).steps
    best = time_alternating({"play": lambda: player.play(population, seeds)}, turns)
    return {"env_steps_per_s": steps / best["play"]}


def _measure_ant(
    task: Task,
    turns: int,
    number: int = 10,
    hidden: tuple[int, ...] = (256, 256),
    starts: int = 1,
    record: bool = True,
) -> dict[str, float]:
    """Play policies closed loop, and replay the very same actions with no policy, in turns.

    Args:
        task: What is played.
        turns: How often each contestant runs.
        number: How many policies.
        hidden: Their hidden layers.
        starts: Episodes of each.
        record: Whether observations and actions are kept when they are played.
    """
    assert isinstance(task, MujocoTask)
    policies = _population(task, number, *hidden)
    population = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf), starts, axis=0), policies)
    player, seeds = make_player(task), np.arange(number * starts)
    rollouts = player.play(population, seeds)
    best = time_alternating(
        {"play": lambda: player.play(population, seeds, record=record), "physics": lambda: _replay(task, rollouts)},
        turns,
    )
    return {
        "env_steps_per_s": rollouts.steps / best["play"],
        "physics_steps_per_s": rollouts.steps / best["physics"],
        "fraction_of_physics": best["physics"] / best["play"],
    }


def _replay(task: MujocoTask, rollouts: Rollouts) -> None:
    """Step the physics of all episodes through recorded actions on all cores, and do nothing else."""
    assert rollouts.actions is not None
    batch = reset_batch(task, rollouts.seeds, threads=0)
    ctrl = batch.bind("ctrl")
    for t in range(rollouts.rewards.shape[1]):
        alive = np.nonzero(rollouts.lengths > t)[0]
        ctrl[alive] = rollouts.actions[alive, t]
        batch.step(ids=alive, nstep=task.frame_skip)
