"""How MuJoCo's scenes look: colours for models that have none, a camera that follows, tiles that show movement."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

_PLAIN = np.array([0.5, 0.5, 0.5, 1.0])  # MuJoCo's colour where a model says nothing
AGENT, WALL, FLOOR, LIGHT_TILE = (0.84, 0.37, 0.0, 1.0), (0.35, 0.36, 0.42, 1.0), (0.88, 0.89, 0.92, 1.0), 0.04
_TILES = 12  # on each side of the agent


def dress(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy with light, and with colours for what moves, for floors and for the rest where the model has none."""
    dressed = copy.copy(model)
    plain = (dressed.geom_rgba == _PLAIN.astype(np.float32)).all(axis=1) & (dressed.geom_matid < 0)
    is_floor = dressed.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    moves = dressed.body_weldid[dressed.geom_bodyid] != 0
    dressed.geom_rgba[plain & moves] = AGENT
    dressed.geom_rgba[plain & is_floor] = FLOOR
    dressed.geom_rgba[plain & ~moves & ~is_floor] = WALL
    dressed.vis.headlight.ambient[:] = 0.45
    dressed.vis.headlight.diffuse[:] = 0.5
    dressed.vis.headlight.specular[:] = 0.1
    return dressed


def first_moving(model: mujoco.MjModel) -> int | None:
    """The first body that moves, if any."""
    moving = np.flatnonzero(model.body_weldid != 0)
    return int(moving[0]) if len(moving) else None


def reach(model: mujoco.MjModel) -> float:
    """How far what moves reaches from its first body, at rest."""
    body = first_moving(model)
    if body is None:
        return 1.0
    geoms, data = model.body_weldid[model.geom_bodyid] != 0, mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    away = np.linalg.norm(data.geom_xpos[geoms] - data.xpos[body], axis=1) + model.geom_rbound[geoms]
    return float(away.max(initial=0.1))


def follow(model: mujoco.MjModel) -> mujoco.MjvCamera:
    """A camera above the first body that moves, a few of its own lengths away."""
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    body = first_moving(model)
    if body is not None:
        camera.type, camera.trackbodyid = mujoco.mjtCamera.mjCAMERA_TRACKING, body
        camera.distance, camera.azimuth, camera.elevation = 5 * reach(model), 60.0, -40.0
    return camera


def add_tiles(scene: mujoco.MjvScene, centre: np.ndarray, size: float) -> None:
    """Put a checkerboard of tiles of this size on the floor around `centre` [3], so that movement can be seen."""
    middle = np.floor(centre[:2] / size).astype(int)
    for i in range(-_TILES, _TILES + 1):
        for j in range(-_TILES, _TILES + 1):
            tile = middle + np.array([i, j])
            if tile.sum() % 2 or scene.ngeom >= scene.maxgeom:
                continue
            place = np.array([*((tile + 0.5) * size), 0.001])
            shape = np.array([size / 2, size / 2, 0.001])
            colour = np.array(FLOOR, np.float32) - np.array([*[2 * LIGHT_TILE] * 3, 0], np.float32)
            box = mujoco.mjtGeom.mjGEOM_BOX
            mujoco.mjv_initGeom(scene.geoms[scene.ngeom], box, shape, place, np.eye(3).ravel(), colour)
            scene.ngeom += 1
