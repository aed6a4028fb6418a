"""A rover with two wheels: where can it park, and how cheaply?"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import mujoco
import numpy as np

from qdpg.tasks import MujocoTask
from qdpg.tasks.task import Box, Floor, TaskSpec

XML = Path(__file__).with_name("rover.xml")
EDGE = 1.5  # metres from the middle


@dataclass(frozen=True)
class Rover(MujocoTask):
    """Drive somewhere at little effort.

    Attributes:
        horizon: Steps until the episode is cut.
    """

    horizon: int = 100
    frame_skip: ClassVar[int] = 5  # of 0.01 s: a policy acts twenty times a second

    @property
    def spec(self):
        """Sizes and bounds."""
        return TaskSpec(
            name="rover",
            observation_size=8,
            action_size=2,
            horizon=self.horizon,
            action_low=(-1.0, -1.0),
            action_high=(1.0, 1.0),
            descriptor_low=(-EDGE, -EDGE),
            descriptor_high=(EDGE, EDGE),
            fitness_floor=-2.0 * self.horizon,
            floor=Floor(
                low=(-EDGE, -EDGE), high=(EDGE, EDGE), walls=(Box(0.9, 0, 0.1, 0.6),), start=Box(0, 0, 0.1, 0.1)
            ),
        )

    def build(self):
        """The model; full command is fifteen radians per second."""
        model = mujoco.MjModel.from_xml_path(str(XML))
        model.actuator_gainprm[:, 0] *= 15.0
        return model

    def start(self, seed):
        """In the middle, facing almost ahead."""
        half = np.random.default_rng(seed).uniform(-0.05, 0.05)
        return np.array([0, 0, 0.1, np.cos(half), 0, 0, np.sin(half), 0, 0]), np.zeros(8)

    def observe(self, physics):
        """Place, heading (cosine and sine), speed along x and y, turning speed, speed of the left wheel, [n, 8]."""
        w, z = physics.qpos[:, 3], physics.qpos[:, 6]
        heading = np.stack([w * w - z * z, 2 * w * z], axis=1)
        speeds = physics.qvel[:, [0, 1, 5]] / 2
        return np.concatenate([physics.qpos[:, :2], heading, speeds, physics.qvel[:, 6:7] / 15], axis=1)

    def describe(self, physics):
        """Where it is, [n, 2]."""
        return np.clip(physics.qpos[:, :2], -EDGE, EDGE)

    def reward(self, before, action, after):
        """Minus the effort, [n]."""
        return -np.square(action).sum(axis=1)

    def terminated(self, physics):
        """When it lies on its back, [n]."""
        return physics.qpos[:, 2] > 0.5
