"""The locomotion tasks of the quality-diversity literature, on Gymnasium's own v5 models.

*-uni: a robot is paid for running forward; what tells policies apart is how often each foot touches the ground.
ant-omni: an ant is paid for staying alive at little effort; what tells policies apart is where it ends.

The models are read from the installed Gymnasium package; physics, observations, costs and ends of episodes are those of
its v5 environments, without contact forces. docs/tasks.md has the sources.
"""

from __future__ import annotations

import functools
import importlib.util
import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import mujoco
import numpy as np

from qdpg.tasks.task import Box, Floor, MujocoTask, Physics, TaskSpec


@dataclass(frozen=True)
class Robot:
    """What distinguishes one of Gymnasium's robots from another.

    Attributes:
        xml: File of its model.
        feet: Geoms whose touch of the ground is the descriptor, and what to call them.
        hidden_positions: Coordinates at the front of qpos that policies do not see: where on the floor it is.
        observation_size: Of the other positions and the velocities.
        action_size: Of its motors.
        forward: Reward per metre and second.
        effort: Cost of the squared torque commands, each in the model's own range.
        survival: Reward of every step that does not end the episode.
        heights: Of the torso, outside which the episode ends.
        angle: Of the torso, beyond which the episode ends.
        largest_state: Beyond which a position or velocity ends the episode.
        largest_velocity: Where observed velocities are cut.
        noise: Of the start: uniform on positions; on velocities uniform too or, where `normal`, with this deviation.
        normal: See there.
    """

    xml: str
    feet: dict[str, str]
    hidden_positions: int
    observation_size: int
    action_size: int
    forward: float = 1.0
    effort: float = 1e-3
    survival: float = 1.0
    heights: tuple[float, float] = (-math.inf, math.inf)
    angle: float = math.inf
    largest_state: float = math.inf
    largest_velocity: float = math.inf
    noise: float = 5e-3
    normal: bool = False

    def __hash__(self) -> int:
        """By its model."""
        return hash(self.xml)


def build_robot(robot: Robot, sense_contact: bool) -> mujoco.MjModel:
    """Compile a robot's model; its motors take commands in [-1, 1].

    Args:
        robot: Which one.
        sense_contact: Add a sensor that makes MuJoCo compute the external contact forces at every step.
    """
    found = importlib.util.find_spec("gymnasium")
    assert found is not None
    assert found.origin is not None
    spec = mujoco.MjSpec.from_file(str(Path(found.origin).parent / "envs" / "mujoco" / "assets" / robot.xml))
    # A diverged simulation must show as such, not silently jump back to the start.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    if sense_contact:
        torso = spec.body("torso")
        torso.add_site(name="contact_sense")
        sensor, site = mujoco.mjtSensor.mjSENS_ACCELEROMETER, mujoco.mjtObj.mjOBJ_SITE
        spec.add_sensor(name="contact_sense", type=sensor, objtype=site, objname="contact_sense")
    mass, spec.compiler.settotalmass = spec.compiler.settotalmass, -1.0  # deprecated there; done below
    model = spec.compile()
    if mass > 0:
        mujoco.mj_setTotalmass(model, mass)
        mujoco.mj_setConst(model, mujoco.MjData(model))
    model.actuator_gear *= model.actuator_ctrlrange[:, 1:]
    model.actuator_ctrlrange[:] = -1.0, 1.0
    return model


@functools.cache
def _model(robot: Robot) -> mujoco.MjModel:
    """The compiled model, for what can be read off it."""
    return build_robot(robot, sense_contact=False)


@functools.cache
def _foot_bodies(robot: Robot) -> list[int]:
    """The bodies that the feet's geoms belong to."""
    return [int(_model(robot).geom(name).bodyid[0]) for name in robot.feet]


class LocomotionTask(MujocoTask):
    """What all of them share: start, observations, costs and ends of episodes."""

    robot: ClassVar[Robot]
    torque: ClassVar[float] = 1.0  # the largest command of the model's own motors

    @property
    def measures_contact(self) -> bool:
        """Where feet count."""
        return True

    def build(self) -> mujoco.MjModel:
        """The robot on its floor."""
        return build_robot(self.robot, self.measures_contact)

    def start(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw the start: the model's own pose with noise."""
        rng, robot = np.random.default_rng(seed), self.robot
        pose = _model(robot).qpos0
        speeds = robot.noise * rng.standard_normal(_model(robot).nv)
        positions = pose + rng.uniform(-robot.noise, robot.noise, len(pose))
        return positions, speeds if robot.normal else rng.uniform(-robot.noise, robot.noise, len(speeds))

    def observe(self, physics: Physics) -> np.ndarray:
        """Positions but for the place on the floor, and velocities, [n, O]."""
        most = self.robot.largest_velocity
        return np.concatenate(
            [physics.qpos[:, self.robot.hidden_positions :], np.clip(physics.qvel, -most, most)], axis=1
        )

    def effort(self, action: np.ndarray) -> np.ndarray:
        """What commands [n, A] cost, [n]."""
        return self.robot.effort * self.torque**2 * np.einsum("na,na->n", action, action, dtype=np.float64)

    def terminated(self, physics: Physics) -> np.ndarray:
        """When the robot has fallen."""
        robot, planar = self.robot, self.robot.hidden_positions == 1
        height = physics.qpos[:, 1 if planar else 2]
        fallen = (height < robot.heights[0]) | (height > robot.heights[1])
        if planar:
            fallen |= np.abs(physics.qpos[:, 2]) > robot.angle
        if robot.largest_state < math.inf:
            state = np.concatenate([physics.qpos[:, 2:], physics.qvel], axis=1)
            fallen |= (np.abs(state) >= robot.largest_state).any(axis=1)
        return fallen

    def _speed(self, before: Physics, after: Physics) -> np.ndarray:
        """Metres per second forward, [n]."""
        seconds = _model(self.robot).opt.timestep * self.frame_skip
        return (after.qpos[:, 0] - before.qpos[:, 0]) / seconds


class UniTask(LocomotionTask):
    """Run forward; the descriptor is the share of time that each foot touches the ground."""

    name: ClassVar[str]
    floor_per_step: ClassVar[float]  # QDax's offset, which makes all rewards of its own simulator positive
    references: ClassVar[dict[str, float]]  # means of 30 episodes, by tools/locomotion.py
    horizon: int

    @property
    def spec(self) -> TaskSpec:
        """Sizes and bounds."""
        robot, feet = self.robot, len(self.robot.feet)
        return TaskSpec(
            name=self.name,
            observation_size=robot.observation_size,
            action_size=robot.action_size,
            horizon=self.horizon,
            action_low=(-self.torque,) * robot.action_size,
            action_high=(self.torque,) * robot.action_size,
            descriptor_low=(0.0,) * feet,
            descriptor_high=(1.0,) * feet,
            descriptor_names=tuple(robot.feet.values()),
            behaviour="mean",
            evaluate_every=50_000,
            fitness_floor=-self.floor_per_step * self.horizon,
            references=self.references,
        )

    def describe(self, physics: Physics) -> np.ndarray:
        """Which feet touch the ground, [n, feet] of 0 and 1."""
        assert physics.contact is not None
        return np.abs(physics.contact[:, _foot_bodies(self.robot)]).max(axis=2) > 0.0

    def reward(self, before: Physics, action: np.ndarray, after: Physics) -> np.ndarray:
        """Forward velocity, minus the cost of effort, plus the survival bonus, [n]."""
        survival = self.robot.survival * ~self.terminated(after)
        return self.robot.forward * self._speed(before, after) - self.effort(action) + survival


WALKER = Robot(
    "walker2d_v5.xml",
    {"foot_geom": "right foot", "foot_left_geom": "left foot"},
    hidden_positions=1,
    observation_size=17,
    action_size=6,
    heights=(0.8, 2.0),
    angle=1.0,
    largest_velocity=10.0,
)
CHEETAH = Robot(
    "half_cheetah.xml",
    {"bfoot": "back foot", "ffoot": "front foot"},
    hidden_positions=1,
    observation_size=17,
    action_size=6,
    effort=0.1,
    survival=0.0,
    noise=0.1,
    normal=True,
)
HOPPER = Robot(
    "hopper.xml",
    {"foot_geom": "foot"},
    hidden_positions=1,
    observation_size=11,
    action_size=3,
    heights=(0.7, math.inf),
    angle=0.2,
    largest_state=100.0,
    largest_velocity=10.0,
)
ANT = Robot(
    "ant.xml",
    {
        "left_ankle_geom": "front left foot",
        "right_ankle_geom": "front right foot",
        "third_ankle_geom": "back left foot",
        "fourth_ankle_geom": "back right foot",
    },
    hidden_positions=2,
    observation_size=27,
    action_size=8,
    effort=0.5,
    heights=(0.2, 1.0),
    noise=0.1,
    normal=True,
)
HUMANOID = Robot(
    "humanoid.xml",
    {"right_foot": "right foot", "left_foot": "left foot"},
    hidden_positions=2,
    observation_size=45,
    action_size=17,
    forward=1.25,
    effort=0.1,
    survival=5.0,
    heights=(1.0, 2.0),
    noise=0.01,
)


@dataclass(frozen=True)
class Walker2dUni(UniTask):
    """Walker2d-v5 by the contact of its two feet.

    Attributes:
        horizon: Steps until the episode is cut.
    """

    horizon: int = 1000
    name: ClassVar[str] = "walker2d-uni"
    robot: ClassVar[Robot] = WALKER
    frame_skip: ClassVar[int] = 4
    floor_per_step: ClassVar[float] = 1.413
    references: ClassVar[dict[str, float]] = {"motionless": 93.0, "random": 1.0}


@dataclass(frozen=True)
class HalfCheetahUni(UniTask):
    """HalfCheetah-v5 by the contact of its two feet.

    Attributes:
        horizon: Steps until the episode is cut.
    """

    horizon: int = 1000
    name: ClassVar[str] = "halfcheetah-uni"
    robot: ClassVar[Robot] = CHEETAH
    frame_skip: ClassVar[int] = 5
    floor_per_step: ClassVar[float] = 9.231
    references: ClassVar[dict[str, float]] = {"motionless": 0.0, "random": -283.0}


@dataclass(frozen=True)
class HopperUni(UniTask):
    """Hopper-v5 by the contact of its foot.

    Attributes:
        horizon: Steps until the episode is cut.
    """

    horizon: int = 1000
    name: ClassVar[str] = "hopper-uni"
    robot: ClassVar[Robot] = HOPPER
    frame_skip: ClassVar[int] = 4
    floor_per_step: ClassVar[float] = 0.9
    references: ClassVar[dict[str, float]] = {"motionless": 134.0, "random": 12.0}


@dataclass(frozen=True)
class AntUni(UniTask):
    """Ant-v5, without the cost of contact, by the contact of its four feet.

    Attributes:
        horizon: Steps until the episode is cut.
    """

    horizon: int = 1000
    name: ClassVar[str] = "ant-uni"
    robot: ClassVar[Robot] = ANT
    frame_skip: ClassVar[int] = 5
    floor_per_step: ClassVar[float] = 3.24
    references: ClassVar[dict[str, float]] = {"motionless": 1000.0, "random": -48.0}


@dataclass(frozen=True)
class HumanoidUni(UniTask):
    """Humanoid-v5 by the contact of its two feet. It sees positions and velocities; the torso's speed is paid.

    Attributes:
        horizon: Steps until the episode is cut.
    """

    horizon: int = 1000
    name: ClassVar[str] = "humanoid-uni"
    robot: ClassVar[Robot] = HUMANOID
    torque: ClassVar[float] = 0.4
    frame_skip: ClassVar[int] = 5
    floor_per_step: ClassVar[float] = 0.0
    references: ClassVar[dict[str, float]] = {"motionless": 197.0, "random": 120.0}


@dataclass(frozen=True)
class AntOmni(LocomotionTask):
    """Ant-v5 by where it ends; it is paid for being alive at little effort, whatever its speed.

    Attributes:
        horizon: Steps until the episode is cut.
    """

    horizon: int = 250
    robot: ClassVar[Robot] = ANT
    frame_skip: ClassVar[int] = 5

    @property
    def spec(self) -> TaskSpec:
        """Sizes and bounds."""
        edge = 30.0
        return TaskSpec(
            name="ant-omni",
            observation_size=self.robot.observation_size,
            action_size=self.robot.action_size,
            horizon=self.horizon,
            action_low=(-1.0,) * self.robot.action_size,
            action_high=(1.0,) * self.robot.action_size,
            descriptor_low=(-edge, -edge),
            descriptor_high=(edge, edge),
            evaluate_every=50_000,
            fitness_floor=-3.0 * self.horizon,  # full effort to the end; also QDax's offset
            references={"motionless": 250.0, "random": -34.0},
            floor=Floor(low=(-edge, -edge), high=(edge, edge), start=Box(0, 0, 0.1, 0.1)),
        )

    @property
    def measures_contact(self) -> bool:
        """Feet do not count here."""
        return False

    def describe(self, physics: Physics) -> np.ndarray:
        """The torso's x and y, [n, 2]."""
        return np.clip(physics.qpos[:, :2], self.spec.descriptor_low, self.spec.descriptor_high)

    def reward(self, before: Physics, action: np.ndarray, after: Physics) -> np.ndarray:
        """The survival bonus minus the cost of effort, [n]."""
        return self.robot.survival * ~self.terminated(after) - self.effort(action)
