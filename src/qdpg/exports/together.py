"""Pictures of several elites at once: in one scene of MuJoCo's, or as points on one floor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import matplotlib
import mujoco
import numpy as np
from PIL import Image, ImageDraw

from qdpg.errors import UserError
from qdpg.exports.episode import Episode
from qdpg.exports.frames import Size, plain_floor, plane_points, stage
from qdpg.exports.looks import add_tiles, dress, first_moving, reach
from qdpg.tasks.floor_plan import empty_floor
from qdpg.tasks.gymnasium import GymnasiumTask
from qdpg.tasks.task import MujocoTask, Task, compile_model

_ELEVATION = -38.0  # degrees: from above, but bodies can still be seen
_TILES = 20  # along the longer side of what is shown


def frames_together(task: Task, episodes: Sequence[Episode], steps: np.ndarray, size: Size) -> Iterator[np.ndarray]:
    """Pictures [height, width, 3] uint8 of all episodes after the given numbers of steps; who is done stays.

    Colours are fitness, from dark (the worst of them) to bright (the best).

    Raises:
        UserError: The environment draws itself, and so one agent only; or this machine cannot draw MuJoCo's scenes.
    """
    if isinstance(task, MujocoTask):
        return _in_one_scene(task, episodes, steps, size)
    if isinstance(task, GymnasiumTask) and task.spec.floor is None:
        raise UserError(f"{task.label} draws itself, one agent at a time; leave out --together.")
    return _on_one_floor(task, episodes, steps, size)


def _in_one_scene(task: MujocoTask, episodes: Sequence[Episode], steps: np.ndarray, size: Size) -> Iterator[np.ndarray]:
    """Every body in the same scene, seen from a camera that stands still and sees all of their ways."""
    model = dress(compile_model(task))
    model.geom_size[model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE, :2] = 0.0  # floors are drawn without an end
    data, option, colours = mujoco.MjData(model), mujoco.MjvOption(), _colours(episodes)
    poses = [_at(episode.poses, steps) for episode in episodes]
    camera, tile = _overview(model, poses, size)
    most = 1000 + model.ngeom * len(episodes)
    with stage(model, size, most) as (scene, photograph):
        for t in range(len(steps)):
            for n, pose in enumerate(poses):
                data.qpos[:] = pose[t]
                mujoco.mj_forward(model, data)
                if n == 0:  # the world, and the first agent
                    mujoco.mjv_updateScene(model, data, option, None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
                    first = 0
                else:
                    first = scene.ngeom
                    mujoco.mjv_addGeoms(model, data, option, mujoco.MjvPerturb(), mujoco.mjtCatBit.mjCAT_DYNAMIC, scene)
                _paint(scene, model, first, colours[n])
            add_tiles(scene, camera.lookat, tile)
            yield photograph()


def _paint(scene: mujoco.MjvScene, model: mujoco.MjModel, first: int, colour: np.ndarray) -> None:
    """Give what moves, from the `first` geom of the scene on, a colour."""
    for geom in scene.geoms[first : scene.ngeom]:
        is_geom = geom.objtype == mujoco.mjtObj.mjOBJ_GEOM and geom.objid >= 0
        if is_geom and model.body_weldid[model.geom_bodyid[geom.objid]] != 0:
            geom.rgba[:3] = colour


def _overview(model: mujoco.MjModel, poses: Sequence[np.ndarray], size: Size) -> tuple[mujoco.MjvCamera, float]:
    """A camera that sees the first moving body of every pose, and the size of tiles for what it sees."""
    data, body, places = mujoco.MjData(model), first_moving(model) or 0, []
    for pose in poses:
        for each in pose[:: max(1, len(pose) // 20)]:
            data.qpos[:] = each
            mujoco.mj_kinematics(model, data)
            places.append(data.xpos[body].copy())
    low, high = np.min(places, axis=0) - reach(model), np.max(places, axis=0) + reach(model)
    wide, deep = high[:2] - low[:2]
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    camera.azimuth, camera.elevation = 90.0, _ELEVATION
    camera.lookat[:] = [*(low[:2] + high[:2]) / 2, 0.0]
    half = np.tan(np.radians(model.vis.global_.fovy) / 2)  # of the picture's height, a metre away
    up, along = np.sin(np.radians(-_ELEVATION)), np.cos(np.radians(-_ELEVATION))
    # The nearest edge of what is shown must fit across the picture, and all of it along.
    camera.distance = max(wide / 2 / (half * size[0] / size[1]), deep * up / 2 / half) + deep * along / 2
    return camera, float(max(wide, deep) / _TILES)


def _on_one_floor(task: Task, episodes: Sequence[Episode], steps: np.ndarray, size: Size) -> Iterator[np.ndarray]:
    """Points with their ways behind them."""
    spec = task.spec
    floor = empty_floor(spec.floor or plain_floor(spec), size)
    colours = [tuple((255 * colour).astype(int).tolist()) for colour in _colours(episodes)]
    ways = [floor.pixels(plane_points(spec, episode.descriptors)) for episode in episodes]
    radius = 0.014 * min(size) * floor.smooth
    for t in steps:
        picture = floor.picture.copy()
        draw = ImageDraw.Draw(picture)
        for way, colour in zip(ways, colours, strict=True):
            draw.line(way[: t + 1].ravel().tolist(), fill=_pale(colour), width=2)
        for way, colour in zip(ways, colours, strict=True):
            x, y = way[min(t, len(way) - 1)]
            draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colour, outline="white")
        yield np.array(picture.resize(size, Image.Resampling.BOX))


def _pale(colour: tuple[int, ...]) -> tuple[int, ...]:
    return tuple((each + 2 * 255) // 3 for each in colour)


def _colours(episodes: Sequence[Episode]) -> np.ndarray:
    """Colours [n, 3] from 0 to 1 by the rank of fitness."""
    ranks = np.argsort(np.argsort([episode.fitness for episode in episodes]))
    return matplotlib.colormaps["viridis"](ranks / max(1, len(episodes) - 1))[:, :3]


def _at(poses: np.ndarray | None, steps: np.ndarray) -> np.ndarray:
    """Poses after so many steps; the last one for those who are done."""
    assert poses is not None
    return poses[np.minimum(steps, len(poses) - 1)]
