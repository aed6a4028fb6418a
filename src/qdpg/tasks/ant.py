"""The four-legged ant, assembled in code, for ant-maze and ant-trap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import mujoco
import numpy as np

from qdpg.tasks.task import Box, MujocoTask

_GEOM, _JOINT = mujoco.mjtGeom, mujoco.mjtTrn.mjTRN_JOINT

# Legs 1 to 4, by the quadrant of the floor that they point to.
_QUADRANTS = ((1, 1), (-1, 1), (-1, -1), (1, -1))
_ACTUATED = (4, 1, 2, 3)  # the order in which Gym's ant lists its legs' actuators
_WALL_HALF_HEIGHT = 2.0

# Typical sizes of joint positions and velocities; those of the torso's x and y depend on the task.
POSITION_SCALE = (1.0,) * 13  # height, orientation, joints
VELOCITY_SCALE = (2.0,) * 3 + (4.0,) * 3 + (8.0,) * 8  # along the axes, about them, joints

# What an ant does to the north, it does to the west with each leg in the place of the one before: observations without
# contact forces, x and y left as they are, and actions; see `TaskSpec.quarter_turn`.
_LEGS = ((6, 1), (7, 1), (0, 1), (1, -1), (2, 1), (3, 1), (4, 1), (5, -1))  # hip, ankle of 1 to 4 from 4, 1, 2, 3
_TURNED = ((0, 1), (1, 1), (2, 1), (3, 1), (5, -1), (4, 1), (6, 1))  # x, y, z, orientation
_TURNED_SPEEDS = ((1, -1), (0, 1), (2, 1), (4, -1), (3, 1), (5, 1))  # along the axes, about them
QUARTER_TURN = (
    (
        *_TURNED,
        *((7 + source, sign) for source, sign in _LEGS),
        *((15 + source, sign) for source, sign in _TURNED_SPEEDS),
        *((21 + source, sign) for source, sign in _LEGS),
    ),
    ((6, 1), (7, -1), (0, 1), (1, 1), (2, 1), (3, -1), (4, 1), (5, 1)),  # legs 4, 1, 2, 3
)

QPOS_NOISE = 0.1  # uniform, on every coordinate of the start position
QVEL_NOISE = 0.1  # standard deviation, on every start velocity


@dataclass(frozen=True)
class AntBody:
    """What distinguishes one ant from another; the defaults are Gym's own ant.

    Attributes:
        timestep: Seconds per physics step.
        height: Torso height at the start.
        start: Torso position on the floor at the start.
        head: Whether the torso is an ellipsoid of the sphere's size with a light head in front of it.
        total_mass: Mass in kg that everything is scaled to; None leaves what the densities give (0.91 kg).
    """

    timestep: float = 0.01
    height: float = 0.75
    start: tuple[float, float] = (0.0, 0.0)
    head: bool = False
    total_mass: float | None = None


def build_ant(body: AntBody, walls: Sequence[Box], *, sense_contact: bool = False) -> mujoco.MjModel:
    """Assemble an ant on a floor between walls.

    Args:
        body: Which ant.
        walls: Boxes on the floor, two metres high.
        sense_contact: Add a sensor that makes MuJoCo compute the external contact forces at every step.
    """
    spec = mujoco.MjSpec()
    spec.option.timestep = body.timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    # A diverged simulation must show as such, not silently jump back to the start.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.compiler.degree = True
    joint, geom = spec.default.joint, spec.default.geom
    joint.armature, joint.damping = 1.0, [1.0, 0.0, 0.0]
    geom.density, geom.friction, geom.margin, geom.condim = 5.0, [1.0, 0.5, 0.5], 0.01, 3
    geom.conaffinity = 0  # the ant's parts pass through each other

    world = spec.worldbody
    world.add_geom(name="floor", type=_GEOM.mjGEOM_PLANE, size=[80, 80, 40], conaffinity=1)
    for i, wall in enumerate(walls):
        size = [wall.half_x, wall.half_y, _WALL_HALF_HEIGHT]
        world.add_geom(name=f"wall_{i}", type=_GEOM.mjGEOM_BOX, pos=[wall.x, wall.y, 0], size=size, conaffinity=1)

    torso = world.add_body(name="torso", pos=[*body.start, body.height])
    torso.add_freejoint(name="root")
    if body.head:
        torso.add_geom(name="torso", type=_GEOM.mjGEOM_ELLIPSOID, size=[0.25, 0.25, 0.25])
        torso.add_geom(name="head", type=_GEOM.mjGEOM_SPHERE, size=[0.25, 0, 0], pos=[0.4, 0, 0.25], density=0.01)
    else:
        torso.add_geom(name="torso", type=_GEOM.mjGEOM_SPHERE, size=[0.25, 0, 0])
    for number, quadrant in enumerate(_QUADRANTS, start=1):
        _add_leg(torso, number, *quadrant)
    for number in _ACTUATED:
        for name in (f"hip_{number}", f"ankle_{number}"):
            gear = [150.0, 0, 0, 0, 0, 0]
            spec.add_actuator(name=name, target=name, trntype=_JOINT, gear=gear, ctrlrange=[-1, 1], ctrllimited=True)
    if sense_contact:
        torso.add_site(name="torso")
        sensor, site = mujoco.mjtSensor.mjSENS_ACCELEROMETER, mujoco.mjtObj.mjOBJ_SITE
        spec.add_sensor(name="torso", type=sensor, objtype=site, objname="torso")
    model = spec.compile()
    if body.total_mass is not None:
        mujoco.mj_setTotalmass(model, body.total_mass)
        mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _add_leg(torso: mujoco.MjsBody, number: int, side_x: int, side_y: int) -> None:
    """Add a leg of three capsules: fixed to the torso, turning at the hip, bending at the ankle."""

    def add_segment(parent: mujoco.MjsBody, length: float) -> None:
        end = [length * side_x, length * side_y, 0]
        parent.add_geom(type=_GEOM.mjGEOM_CAPSULE, fromto=[0, 0, 0, *end], size=[0.08, 0, 0])

    joint_at = [0.2 * side_x, 0.2 * side_y, 0]
    root = torso.add_body(name=f"leg_{number}")
    add_segment(root, 0.2)
    thigh = root.add_body(name=f"thigh_{number}", pos=joint_at)
    thigh.add_joint(name=f"hip_{number}", axis=[0, 0, 1], range=[-30, 30], limited=True)
    add_segment(thigh, 0.2)
    shin = thigh.add_body(name=f"shin_{number}", pos=joint_at)
    # The axis lies across the leg; its sense differs so that "down" is 30° to 70° in front and -70° to -30° behind.
    axis, bend = [-side_x * side_y, 1, 0], [30, 70] if side_x > 0 else [-70, -30]
    shin.add_joint(name=f"ankle_{number}", axis=axis, range=bend, limited=True)
    add_segment(shin, 0.4)


class AntTask(MujocoTask):
    """What the two ant tasks share: a noisy start, and the torso's position as descriptor."""

    body: ClassVar[AntBody]

    def start(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw the start: the model's own pose, uniform noise on positions, Gaussian noise on velocities."""
        rng = np.random.default_rng(seed)
        pose = np.zeros(15)  # joints at zero: legs stretched out, as in Gym
        pose[:4] = *self.body.start, self.body.height, 1.0
        return pose + rng.uniform(-QPOS_NOISE, QPOS_NOISE, 15), QVEL_NOISE * rng.standard_normal(14)
