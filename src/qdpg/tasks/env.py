"""The built-in tasks as ordinary Gymnasium environments, for everybody else's algorithms.

Gymnasium knows them as `qdpg/PointMaze-v0`, `qdpg/AntMaze-v0` and `qdpg/AntTrap-v0` (`qdpg.registration`); keyword
arguments of `gymnasium.make` are the task's options.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import gymnasium
import jax
import mujoco
import numpy as np
from gymnasium.spaces import Box

from qdpg.errors import DivergedError, UserError
from qdpg.tasks.registry import make_task
from qdpg.tasks.task import JaxTask, MujocoTask, Physics, Task, compile_model

FLOAT32_MAX = float(np.finfo(np.float32).max)


class _Seen(NamedTuple):
    """What a simulation shows after a reset or a step."""

    observation: np.ndarray  # [O] float32
    descriptor: np.ndarray  # [D] float32
    reward: float = 0.0
    terminated: bool = False


class _Simulation(Protocol):
    """One episode at a time of a task of either family."""

    def reset(self, seed: int) -> _Seen: ...

    def step(self, action: np.ndarray) -> _Seen: ...

    def place(self, psi: np.ndarray) -> np.ndarray: ...

    def limbs(self) -> np.ndarray | None: ...


class TaskEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A `JaxTask` or `MujocoTask` as a Gymnasium environment. `info["state_descriptor"]` holds ψ(s), [D] float32."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 (Gymnasium declares it so)

    def __init__(
        self,
        task: Task | str,
        render_mode: str | None = None,
        observation_limit: float = FLOAT32_MAX,
        **options: Any,
    ) -> None:
        """Make the environment.

        Args:
            task: A task, or its name.
            render_mode: None, or "rgb_array" for pictures of the floor seen from above.
            observation_limit: Largest size of an observation. Unlimited ones are declared as all of float32, since
                learners want finite bounds.
            **options: Fields of the task, if it is given by name.
        """
        self.task = make_task(task, **options) if isinstance(task, str) else task
        self.render_mode = render_mode
        spec = self._task_spec = self.task.spec
        if render_mode is not None and spec.floor is None:
            raise UserError(f"{spec.name} has no floor to draw; leave out render_mode.")
        self.observation_space = Box(-observation_limit, observation_limit, (spec.observation_size,), np.float32)
        self.action_space = Box(-1.0, 1.0, (spec.action_size,), np.float32)
        self._simulation = _simulate(self.task)
        self._steps = 0
        self._trail: list[tuple[float, float]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode: the one that players start from `seed`, or else one drawn from the last seed given."""
        super().reset(seed=seed)
        seen = self._simulation.reset(int(self.np_random.integers(2**31)) if seed is None else seed)
        self._steps, self._trail = 0, []
        return self._show(seen)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play `action` [A], clipped to [-1, 1]."""
        seen = self._simulation.step(np.clip(np.asarray(action, np.float32), -1.0, 1.0))
        self._steps += 1
        observation, info = self._show(seen)
        return observation, seen.reward, seen.terminated, self._steps >= self._task_spec.horizon, info

    def render(self) -> np.ndarray | None:
        """Return a picture of the floor with the agent and its way so far, [480, 480, 3] uint8."""
        if self.render_mode is None or self._task_spec.floor is None:
            return None
        from qdpg.tasks.floor_plan import render_frame  # matplotlib is slow to import, and most never draw

        return render_frame(self._task_spec.floor, self._trail[-1], self._trail, self._simulation.limbs())

    def _show(self, seen: _Seen) -> tuple[np.ndarray, dict[str, Any]]:
        if self.render_mode is not None:
            x, y = self._simulation.place(seen.descriptor).tolist()
            self._trail.append((x, y))
        return seen.observation, {"state_descriptor": seen.descriptor}


def _simulate(task: Task) -> _Simulation:
    if isinstance(task, JaxTask):
        return _JaxSimulation(task)
    if isinstance(task, MujocoTask):
        return _MujocoSimulation(task)
    raise UserError(f"{task.spec.name} is a {type(task).__name__}, but must be a JaxTask or MujocoTask to be wrapped.")


class _JaxSimulation:
    """Steps a `JaxTask`."""

    def __init__(self, task: JaxTask) -> None:
        self._start, self._move = _compile_jax(task)

    def reset(self, seed: int) -> _Seen:
        self._state, shown = self._start(np.uint32(seed % 2**32))  # what players make of a seed
        return self._look(*shown)

    def step(self, action: np.ndarray) -> _Seen:
        self._state, shown = self._move(self._state, action)
        return self._look(*shown)

    def place(self, psi: np.ndarray) -> np.ndarray:
        return psi[:2]

    def limbs(self) -> None:
        return None

    def _look(self, observation: jax.Array, psi: jax.Array, reward: float = 0.0, ended: bool = False) -> _Seen:
        return _Seen(np.array(observation, np.float32), np.array(psi, np.float32), float(reward), bool(ended))


@functools.lru_cache(maxsize=16)
def _compile_jax(task: JaxTask) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the jitted reset and step of `task`, compiled once per task and options."""

    def start(seed: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
        state = task.reset(jax.random.key(seed))
        return state, (task.observe(state), task.describe(state))

    def move(state: Any, action: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
        state, reward, ended = task.step(state, action)
        return state, (task.observe(state), task.describe(state), reward, ended)

    return jax.jit(start), jax.jit(move)


class _MujocoSimulation:
    """Steps a `MujocoTask`."""

    def __init__(self, task: MujocoTask) -> None:
        self._task, self._model = task, compile_model(task)
        self._data = mujoco.MjData(self._model)

    def reset(self, seed: int) -> _Seen:
        data = self._data
        mujoco.mj_resetData(self._model, data)
        data.qpos[:], data.qvel[:] = self._task.start(seed)
        if self._task.measures_contact:
            mujoco.mj_forward(self._model, data)  # so that the first observation's forces are those of the start
        return self._look(self._physics())

    def step(self, action: np.ndarray) -> _Seen:
        before = self._physics()
        self._data.ctrl[:] = action
        mujoco.mj_step(self._model, self._data, nstep=self._task.frame_skip)
        after = self._physics()
        if not (np.isfinite(after.qpos).all() and np.isfinite(after.qvel).all()):
            raise DivergedError(f"the physics of {self._task.spec.name} is not finite")
        reward, ended = self._task.reward(before, action[None], after)[0], self._task.terminated(after)[0]
        return self._look(after, float(reward), bool(ended))

    def place(self, psi: np.ndarray) -> np.ndarray:
        """Return where on the floor to draw the agent, [2]: its body, since the descriptor may be clipped."""
        free = self._model.njnt > 0 and self._model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
        return self._data.qpos[:2].copy() if free else psi[:2]

    def limbs(self) -> np.ndarray:
        """Return the axes of all capsules, seen from above: pairs of (x, y), [k, 2, 2]."""
        model, data = self._model, self._data
        mujoco.mj_kinematics(model, data)  # a step leaves body positions one substep behind qpos
        capsules = model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE
        # A capsule lies along the z axis of its own frame, which is the third column of its rotation matrix.
        half = data.geom_xmat.reshape(-1, 3, 3)[capsules, :, 2] * model.geom_size[capsules, 1, None]
        centre = data.geom_xpos[capsules]
        return np.stack([centre - half, centre + half], axis=1)[:, :, :2]

    def _physics(self) -> Physics:
        """Copy out the state (MuJoCo's own arrays are live), with one row."""
        data = self._data
        contact = data.cfrc_ext[None].copy() if self._task.measures_contact else None
        return Physics(data.qpos[None].copy(), data.qvel[None].copy(), contact)

    def _look(self, physics: Physics, reward: float = 0.0, ended: bool = False) -> _Seen:
        observation, psi = self._task.observe(physics)[0], self._task.describe(physics)[0]
        return _Seen(observation.astype(np.float32), psi.astype(np.float32), reward, ended)
