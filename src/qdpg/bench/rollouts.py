"""How fast populations are played: the ants as a fraction of bare physics, point-maze in steps per second."""

from __future__ import annotations

import jax
import numpy as np

from qdpg.bench.timing import time_alternating
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


def _measure_ant(task: Task, turns: int, number: int = 10) -> dict[str, float]:
    """Play 256x256 policies closed loop, and replay the very same actions with no policy, in turns."""
    assert isinstance(task, MujocoTask)
    player, population, seeds = make_player(task), _population(task, number, 256, 256), np.arange(number)
    rollouts = player.play(population, seeds)
    best = time_alternating(
        {"play": lambda: player.play(population, seeds), "physics": lambda: _replay(task, rollouts)}, turns
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
