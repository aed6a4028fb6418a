"""Playing MuJoCo tasks: all episodes closed loop, on all cores, ended episodes no longer stepped.

Every thread plays its own share of the population from reset to end: physics and policies run side by side on all
cores, and no core waits for another at every step. Simulations are independent, so the split does not show in results.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from mujoco.batch import Batch

from qdpg.learn.networks import MLP
from qdpg.play.acting import NO_NOISE, Actor, Noise, RollIn, draw_noise
from qdpg.play.rollouts import Rollouts, make_rollouts
from qdpg.tasks.task import MujocoTask, Physics, TaskSpec, compile_model


class _Recording:
    """Arrays that the episodes are written into; see `Rollouts` for their shapes."""

    def __init__(self, spec: TaskSpec, number: int, record: bool) -> None:
        horizon = spec.horizon
        self.lengths = np.full(number, horizon, np.int32)
        self.terminated = np.zeros(number, bool)
        self.rewards = np.zeros((number, horizon), np.float32)
        self.descriptors = np.zeros((number, horizon + 1, spec.descriptor_size), np.float32)
        self.observations = np.zeros((number, horizon + 1, spec.observation_size), np.float32) if record else None
        self.actions = np.zeros((number, horizon, spec.action_size), np.float32) if record else None


class MujocoPlayer:
    """Plays a `MujocoTask`."""

    def __init__(self, task: MujocoTask, threads: int = 0) -> None:
        """Prepare to play.

        Args:
            task: What is to be played.
            threads: How many threads; 0 means all cores. Results do not depend on it.
        """
        self.task = task
        self._spec = task.spec
        self._threads = threads or len(os.sched_getaffinity(0))

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
        seeds = np.asarray(seeds)
        recording, actor = _Recording(self._spec, len(seeds), record), Actor(population)
        draws = draw_noise(seeds, noise, self._spec.horizon, self._spec.action_size, roll_in)
        shares = np.array_split(np.arange(len(seeds)), min(self._threads, len(seeds)))
        with ThreadPoolExecutor(len(shares)) as pool:
            playing = [pool.submit(self._play_share, actor, seeds, rows, draws, roll_in, recording) for rows in shares]
        for share in playing:
            share.result()  # raises what the share raised
        return make_rollouts(self._spec, seeds=seeds, noise=noise.sigma, **vars(recording))

    def _play_share(
        self,
        actor: Actor,
        seeds: np.ndarray,
        rows: np.ndarray,
        draws: np.ndarray | None,
        roll_in: RollIn | None,
        recording: _Recording,
    ) -> None:
        """Play the episodes in `rows`. `alive` indexes this share's simulations, `rows[alive]` the whole population."""
        task, spec = self.task, self._spec
        batch = reset_batch(task, seeds[rows])

        alive = np.arange(len(rows))
        ctrl, live = batch.bind("ctrl"), _views(batch, task.measures_contact)
        physics = _take(live, alive)
        seen = task.observe(physics).astype(np.float32)
        recording.descriptors[rows, 0] = task.describe(physics)
        if recording.observations is not None:
            recording.observations[rows, 0] = seen
        for t in range(spec.horizon):
            acting = rows if roll_in is None else roll_in.acting(rows, t)
            action = actor.act(seen, acting, None if draws is None else draws[rows, t])
            ctrl[alive] = action
            batch.step(ids=alive, nstep=task.frame_skip)
            before, physics = physics, _take(live, alive)
            seen = task.observe(physics).astype(np.float32)
            recording.rewards[rows, t] = task.reward(before, action, physics)
            recording.descriptors[rows, t + 1] = task.describe(physics)
            if recording.observations is not None and recording.actions is not None:
                recording.observations[rows, t + 1] = seen
                recording.actions[rows, t] = action
            ended = task.terminated(physics)
            recording.terminated[rows] = ended
            if roll_in is not None:
                ended = ended | roll_in.is_over(rows, t)
            if ended.any():
                done = rows[ended]
                recording.lengths[done] = t + 1
                recording.descriptors[done, t + 2 :] = recording.descriptors[done, t + 1, None]
                alive, rows, seen, physics = alive[~ended], rows[~ended], seen[~ended], _take(physics, ~ended)
                if not alive.size:
                    break


def reset_batch(task: MujocoTask, seeds: np.ndarray, threads: int = 1) -> Batch:
    """Return one simulation per seed, each at its start."""
    batch = Batch(compile_model(task), len(seeds), nthread=threads)
    qpos, qvel = batch.bind("qpos"), batch.bind("qvel")
    for i, seed in enumerate(seeds):
        qpos[i], qvel[i] = task.start(int(seed))
    if task.measures_contact:
        batch.bind("cfrc_ext")
        batch.forward()  # so that the first observation's forces are those of the start
    return batch


def _views(batch: Batch, contact: bool) -> Physics:
    """The batch's own arrays, which change as it steps."""
    return Physics(batch.bind("qpos"), batch.bind("qvel"), batch.bind("cfrc_ext") if contact else None)


def _take(physics: Physics, rows: np.ndarray) -> Physics:
    """Copy out the simulations in `rows` (indices or a mask)."""
    contact = None if physics.contact is None else physics.contact[rows]
    return Physics(physics.qpos[rows], physics.qvel[rows], contact)
