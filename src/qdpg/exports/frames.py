"""Pictures of an episode: MuJoCo's own for its tasks, the environment's for Gymnasium's, a floor for others."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import mujoco
import numpy as np

from qdpg.errors import UserError
from qdpg.exports.episode import Episode
from qdpg.exports.looks import add_tiles, dress, first_moving, follow, reach
from qdpg.tasks.floor_plan import render_frame
from qdpg.tasks.gymnasium import GymnasiumTask, in_words
from qdpg.tasks.task import Floor, MujocoTask, Task, TaskSpec, compile_model

Size = tuple[int, int]  # width, height
NO_LIBRARY = (
    "MuJoCo's scenes cannot be drawn here: neither EGL nor OSMesa works; install one, for example "
    "`apt-get install libegl1 libgl1-mesa-dri` or `apt-get install libosmesa6`."
)


def picture_frames(task: Task, episode: Episode, steps: np.ndarray, size: Size) -> Iterator[np.ndarray]:
    """Pictures [height, width, 3] uint8 of an episode after the given numbers of steps, ascending.

    Raises:
        UserError: This machine cannot draw MuJoCo's scenes, or the environment fails.
    """
    if isinstance(task, MujocoTask):
        return mujoco_frames(task, episode, steps, size)
    if isinstance(task, GymnasiumTask):
        env = make_drawing_env(task)
        if env is not None:
            return gymnasium_frames(task, env, episode, steps)
    return floor_frames(task.spec, episode, steps, size)


def mujoco_frames(task: MujocoTask, episode: Episode, steps: np.ndarray, size: Size) -> Iterator[np.ndarray]:
    """The scene from a camera that follows the first body that moves."""
    model = dress(compile_model(task))
    data, camera, option = mujoco.MjData(model), follow(model), mujoco.MjvOption()
    body, tile = first_moving(model), reach(model)
    assert episode.poses is not None
    with stage(model, size) as (scene, photograph):
        for pose in episode.poses[steps]:
            data.qpos[:] = pose
            mujoco.mj_forward(model, data)
            mujoco.mjv_updateScene(model, data, option, None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
            if body is not None:
                add_tiles(scene, data.xpos[body], tile)
            yield photograph()


@contextmanager
def stage(
    model: mujoco.MjModel, size: Size, most_geoms: int = 1000
) -> Iterator[tuple[mujoco.MjvScene, Callable[[], np.ndarray]]]:
    """A scene to be filled, and a function that photographs it.

    mujoco.Renderer decides by what it draws when MuJoCo is imported; this one, when called.
    """
    model.vis.global_.offwidth, model.vis.global_.offheight = (
        max(model.vis.global_.offwidth, size[0]),
        max(model.vis.global_.offheight, size[1]),
    )
    context = _make_context(size)
    context.make_current()
    try:
        graphics = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, graphics)
        scene = mujoco.MjvScene(model, maxgeom=most_geoms)
        view, picture = mujoco.MjrRect(0, 0, *size), np.empty((size[1], size[0], 3), np.uint8)

        def photograph() -> np.ndarray:
            mujoco.mjr_render(view, scene, graphics)
            mujoco.mjr_readPixels(picture, None, view, graphics)
            return picture[::-1].copy()

        yield scene, photograph
        graphics.free()
    finally:
        context.free()


def _make_context(size: Size) -> Any:
    """A place to draw without a screen.

    Raises:
        UserError: There is none.
    """
    library = working_library()
    if library is None:
        raise UserError(NO_LIBRARY)
    return _open(library, size)


def _open(library: str, size: Size) -> Any:
    return __import__(f"mujoco.{library}", fromlist=["GLContext"]).GLContext(*size)


@functools.cache
def working_library() -> str | None:
    """The first library that can draw without a screen here, if there is one."""
    for library in ("egl", "osmesa"):
        try:
            _open(library, (16, 16)).free()
        except Exception:  # each library fails in its own way: not there, no device, no symbol
            continue
        return library
    return None


def make_drawing_env(task: GymnasiumTask) -> gymnasium.Env | None:
    """The environment with its own pictures, or None if it has none."""
    if library := working_library():
        os.environ.setdefault("MUJOCO_GL", library)  # else Gymnasium's MuJoCo environments would look for a screen
    try:
        if isinstance(task.env, str):
            env = gymnasium.make(task.env, disable_env_checker=True, render_mode="rgb_array")
        else:
            env = task.env(render_mode="rgb_array")  # type: ignore[call-arg]
    except Exception:  # it does not take a render_mode, or needs a library that is not there
        return None
    return env if env.render_mode == "rgb_array" else None


def gymnasium_frames(
    task: GymnasiumTask, env: gymnasium.Env, episode: Episode, steps: np.ndarray
) -> Generator[np.ndarray]:
    """What the environment draws while the episode's actions are played again."""
    wanted = set(steps.tolist())
    try:
        env.reset(seed=episode.seed)
        for t in range(len(episode) + 1):
            if t in wanted:
                yield np.asarray(env.render(), np.uint8)
            if t < len(episode):
                env.step(task.scale(episode.actions[t], env.action_space))
    except UserError:
        raise
    except Exception as error:
        is_mujoco = "OpenGL" in str(error) and working_library() is None
        raise UserError(NO_LIBRARY if is_mujoco else f"{task.label} cannot be drawn: {in_words(error)}.") from error
    finally:
        env.close()


def floor_frames(spec: TaskSpec, episode: Episode, steps: np.ndarray, size: Size) -> Iterator[np.ndarray]:
    """A moving point, with the way behind it: on the floor, or in the plane of the first two descriptors."""
    points, floor = plane_points(spec, episode.descriptors), spec.floor or plain_floor(spec)
    for t in steps:
        yield render_frame(floor, tuple(points[t].tolist()), points[: t + 1], size=size)


def plane_points(spec: TaskSpec, descriptors: np.ndarray) -> np.ndarray:
    """Points [n, 2] of the plane for descriptors [n, D]; a single one moves along a line."""
    return (
        np.column_stack([descriptors[:, 0], np.zeros(len(descriptors))])
        if spec.descriptor_size == 1
        else (descriptors[:, :2])
    )


def plain_floor(spec: TaskSpec) -> Floor:
    """A floor without anything on it, as large as the bounds of the first two descriptors."""
    low, high = spec.descriptor_low[:2], spec.descriptor_high[:2]
    if spec.descriptor_size == 1:
        half = (high[0] - low[0]) / 10
        low, high = (low[0], -half), (high[0], half)
    return Floor(low=(low[0], low[1]), high=(high[0], high[1]))
