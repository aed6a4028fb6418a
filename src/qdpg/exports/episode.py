"""One episode of each of some elites, to be looked at: the one it was stored for, exactly, or a fresh one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from qdpg.learn.networks import take_policies
from qdpg.play.acting import NO_NOISE
from qdpg.play.mujoco_player import reset_batch
from qdpg.play.player import make_player
from qdpg.play.rollouts import Rollouts
from qdpg.play.starts import fresh_starts
from qdpg.runs.collection import Collection
from qdpg.tasks.task import MujocoTask, Task, compile_model


@dataclass(frozen=True)
class Episode:
    """What an elite did.

    Attributes:
        row: Its row in the collection.
        seed: What the episode was reset with.
        descriptors: [T + 1, D] float32, ψ of every visited state.
        observations: [T + 1, O] float32.
        actions: [T, A] float32 in [-1, 1].
        rewards: [T] float32.
        fitness: As the task defines it.
        poses: [T + 1, nq] float64, MuJoCo's positions; None for other tasks, or if nobody wanted them.
    """

    row: int
    seed: int
    descriptors: np.ndarray
    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    fitness: float
    poses: np.ndarray | None = None

    def __len__(self) -> int:
        """Steps."""
        return len(self.rewards)


def play_stored(task: Task, elites: Collection, rows: Sequence[int] | np.ndarray, poses: bool = True) -> list[Episode]:
    """The episodes that the elites in `rows` were stored for, bit for bit; the first if there were several.

    Without `poses` a MuJoCo task is played once instead of twice.
    """
    rows = np.asarray(rows)
    noise = elites.noise._replace(sigma=np.asarray(elites.noise.sigma)[rows])
    played = make_player(task).play(take_policies(elites.population(), rows), elites.seeds[rows], noise=noise)
    return split(task, played, rows, poses)


def play_fresh(task: Task, elites: Collection, rows: Sequence[int] | np.ndarray, seed: int = 0) -> list[Episode]:
    """Episodes of the elites in `rows` from one start that training never saw, without noise."""
    rows = np.asarray(rows)
    starts = np.repeat(fresh_starts("watch", 1, seed), len(rows))
    return split(task, make_player(task).play(take_policies(elites.population(), rows), starts, noise=NO_NOISE), rows)


def split(task: Task, played: Rollouts, rows: np.ndarray, poses: bool = True) -> list[Episode]:
    """Rollouts of the elites in `rows`, recorded, one by one."""
    assert played.observations is not None
    assert played.actions is not None
    episodes = []
    for n, (row, length) in enumerate(zip(rows, played.lengths, strict=True)):
        actions, seed = played.actions[n, :length], int(played.seeds[n])
        episodes.append(
            Episode(
                row=int(row),
                seed=seed,
                descriptors=played.descriptors[n, : length + 1],
                observations=played.observations[n, : length + 1],
                actions=actions,
                rewards=played.rewards[n, :length],
                fitness=float(played.fitness[n]),
                poses=replay_poses(task, seed, actions) if poses and isinstance(task, MujocoTask) else None,
            )
        )
    return episodes


def replay_poses(task: MujocoTask, seed: int, actions: np.ndarray) -> np.ndarray:
    """MuJoCo's positions in the episode with these actions [T, A], [T + 1, nq]: physics gives the same bits again."""
    batch = reset_batch(task, np.array([seed]))
    ctrl, qpos = batch.bind("ctrl"), batch.bind("qpos")
    poses = np.empty((len(actions) + 1, qpos.shape[1]))
    poses[0] = qpos[0]
    for t, action in enumerate(actions):
        ctrl[0] = action
        batch.step(nstep=task.frame_skip)
        poses[t + 1] = qpos[0]
    return poses


def seconds_per_step(task: Task) -> float:
    """How long a step lasts: as the physics says, else a thirtieth of a second."""
    return compile_model(task).opt.timestep * task.frame_skip if isinstance(task, MujocoTask) else 1 / 30


def body_places(model: mujoco.MjModel, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where all bodies are and how they are turned: [T, nbody, 3] and matrices [T, nbody, 3, 3]."""
    data = mujoco.MjData(model)
    places, turns = np.empty((len(poses), model.nbody, 3)), np.empty((len(poses), model.nbody, 3, 3))
    for t, pose in enumerate(poses):
        data.qpos[:] = pose
        mujoco.mj_kinematics(model, data)
        places[t], turns[t] = data.xpos, data.xmat.reshape(-1, 3, 3)
    return places, turns
