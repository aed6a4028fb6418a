"""MuJoCo's shapes in viser's scene: every agent in a colour of its own, all of a kind drawn at once."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from qdpg.explorer.drawing import surface

_GROUPS = 3  # MuJoCo shows the first three groups of shapes; the others are for collisions


def shapes_of(model: mujoco.MjModel, moving: bool) -> np.ndarray:
    """The shapes that are seen, of bodies that move or of the others, [n] int. Planes are left to the floor."""
    seen = (model.geom_group < _GROUPS) & (colours_of(model)[:, 3] > 0)
    moves = model.body_weldid[model.geom_bodyid] != 0
    return np.flatnonzero(seen & (moves == moving) & (model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE))


def colours_of(model: mujoco.MjModel) -> np.ndarray:
    """What colour every shape has, [geoms, 4] from 0 to 1: its material's, if it has one."""
    has_material = model.geom_matid >= 0
    materials = model.mat_rgba[np.maximum(model.geom_matid, 0)] if model.nmat else model.geom_rgba
    return np.where(has_material[:, None], materials, model.geom_rgba)


def body_path(model: mujoco.MjModel, poses: np.ndarray, body: int) -> np.ndarray:
    """Where a body is on the floor for MuJoCo's positions [T, nq], [T, 3]."""
    data, path = mujoco.MjData(model), np.zeros((len(poses), 3))
    for t, pose in enumerate(poses):
        data.qpos[:] = pose
        mujoco.mj_kinematics(model, data)
        path[t, :2] = data.xpos[body, :2]
    return path


def geom_places(model: mujoco.MjModel, poses: np.ndarray, geoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where shapes are for MuJoCo's positions [T, nq], and how they are turned: [T, n, 3] and quaternions [T, n, 4]."""
    if not len(geoms):
        return np.zeros((len(poses), 0, 3)), np.zeros((len(poses), 0, 4))
    data = mujoco.MjData(model)
    places, turns = np.empty((len(poses), len(geoms), 3)), np.empty((len(poses), len(geoms), 3, 3))
    for t, pose in enumerate(poses):
        data.qpos[:] = pose
        mujoco.mj_kinematics(model, data)
        places[t], turns[t] = data.geom_xpos[geoms], data.geom_xmat[geoms].reshape(-1, 3, 3)
    quaternions = Rotation.from_matrix(turns.reshape(-1, 3, 3)).as_quat(scalar_first=True)
    return places, quaternions.reshape(len(poses), len(geoms), 4)


class Shapes:
    """Some shapes of a model, once per agent."""

    def __init__(
        self, server: Any, name: str, model: mujoco.MjModel, geoms: np.ndarray, colours: np.ndarray, **how: Any
    ) -> None:
        """Put them into the scene; `place` says where.

        Args:
            server: viser's.
            name: Of the node that they are under.
            model: Where they come from.
            geoms: Which of its shapes, [n].
            colours: Of each shape of each agent, [agents, n, 3] uint8.
            **how: What viser is told besides.
        """
        self._server = server
        kinds: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for n, geom in enumerate(geoms):
            kinds[(model.geom_type[geom], model.geom_dataid[geom], *model.geom_size[geom])].append(n)
        self._parts: list[tuple[np.ndarray, Any]] = []
        for some in map(np.array, kinds.values()):
            mesh = _mesh(model, int(geoms[some[0]]))
            number = len(colours) * len(some)
            handle = server.scene.add_batched_meshes_simple(
                f"{name}/{len(self._parts)}",
                np.asarray(mesh.vertices),
                np.asarray(mesh.faces),
                np.tile([1.0, 0.0, 0.0, 0.0], (number, 1)),
                np.zeros((number, 3)),
                batched_colors=surface(colours[:, some].reshape(-1, 3)),
                lod="off",
                cast_shadow=False,
                **how,
            )
            self._parts.append((some, handle))

    def place(self, places: np.ndarray, turns: np.ndarray) -> None:
        """Move the shapes of all agents to `places` [agents, n, 3], turned by quaternions [agents, n, 4]."""
        with self._server.atomic():
            for some, handle in self._parts:
                handle.batched_positions = places[:, some].reshape(-1, 3)
                handle.batched_wxyzs = turns[:, some].reshape(-1, 4)

    def colour(self, colours: np.ndarray) -> None:
        """Give them other colours, [agents, n, 3] uint8."""
        for some, handle in self._parts:
            handle.batched_colors = surface(colours[:, some].reshape(-1, 3))

    def remove(self) -> None:
        """Take them out of the scene."""
        for _, handle in self._parts:
            handle.remove()


def _mesh(model: mujoco.MjModel, geom: int) -> Any:
    from mjviser.conversions import create_primitive_mesh, mujoco_mesh_to_trimesh

    is_mesh = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH
    return (mujoco_mesh_to_trimesh if is_mesh else create_primitive_mesh)(model, geom)
