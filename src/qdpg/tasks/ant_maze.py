"""ant-maze: a heavy ant at the bottom left of a maze; the goal, bottom right, lies behind a dead end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import mujoco
import numpy as np

from qdpg.errors import UserError
from qdpg.ranges import Horizon, Number
from qdpg.tasks.ant import POSITION_SCALE, QUARTER_TURN, VELOCITY_SCALE, AntBody, AntTask, build_ant
from qdpg.tasks.task import Box, Floor, GoalTask, Physics, TaskSpec

LOW, HIGH = -30.0, 40.0  # the square world
WALLS = (
    Box(5, 40, 35, 0.3),  # top
    Box(5, -30, 35, 0.3),  # bottom
    Box(40, 5, 0.3, 35),  # right
    Box(-30, 5, 0.3, 35),  # left
    Box(-15, 20, 0.3, 17),
    Box(-3, -15, 13, 0.3),
    Box(10, -15, 0.3, 15),  # the end of the corridor towards the goal
)


@dataclass(frozen=True)
class AntMaze(AntTask, GoalTask):
    """The maze of the paper and of ME-ES.

    Attributes:
        goal: Where to go; adaptation experiments move it.
        reward_scale: Factor on the training reward: 1 as in the paper, 0.05 as in its company's code. Fitness is
            unscaled either way.
        horizon: Steps until the episode is cut; it never ends by itself.
    """

    goal: tuple[Number, Number] = (35.0, -25.0)
    reward_scale: Number = 1.0
    horizon: Horizon = 3000

    # The source scales ant and a far-away static body to 25,755 kg together, of which 40.0 kg fall to the ant.
    body: ClassVar[AntBody] = AntBody(timestep=0.005, height=0.6, start=(-25.0, -25.0), head=True, total_mass=40.0)
    clearance: ClassVar[float] = 1.0  # its legs are about that long

    def __post_init__(self) -> None:
        """Refuse a reward that says nothing."""
        if self.reward_scale <= 0:
            raise UserError(f"ant-maze's option reward_scale is {self.reward_scale}, but must be positive.")

    @property
    def spec(self) -> TaskSpec:
        """Sizes, bounds and reference scores (docs/tasks.md says how each was computed)."""
        return TaskSpec(
            name="ant-maze",
            observation_size=29,
            action_size=8,
            horizon=self.horizon,
            action_low=(-1.0,) * 8,
            action_high=(1.0,) * 8,
            descriptor_low=(LOW, LOW),
            descriptor_high=(HIGH, HIGH),
            fitness="best-reward",
            fitness_scale=1 / self.reward_scale,
            solved=-10.0,
            fitness_floor=-92.0,  # the corner farthest from the goal
            evaluate_every=150_000,
            located=((0, HIGH - LOW, (LOW + HIGH) / 2), (1, HIGH - LOW, (LOW + HIGH) / 2)),
            observation_scale=(1.0, 1.0, *POSITION_SCALE, *VELOCITY_SCALE),
            quarter_turn=QUARTER_TURN,
            references={"scripted": 0.0, "deceptive": -26.0, "random": -59.75, "motionless": -60.0},
            floor=Floor(
                low=(LOW, LOW),
                high=(HIGH, HIGH),
                walls=WALLS,
                start=Box(*self.body.start, 0.1, 0.1),
                goal=Box(*self.goal, 5, 5),
                pull="goal",
            ),
        )

    def build(self) -> mujoco.MjModel:
        """The ant between seven walls."""
        return build_ant(self.body, WALLS)

    def observe(self, physics: Physics) -> np.ndarray:
        """Positions with x and y brought to ±0.5, then velocities, [n, 29]."""
        observation = np.concatenate([physics.qpos, physics.qvel], axis=1)
        observation[:, :2] = (observation[:, :2] - (LOW + HIGH) / 2) / (HIGH - LOW)
        return observation

    def describe(self, physics: Physics) -> np.ndarray:
        """The torso's x and y, [n, 2]."""
        return physics.qpos[:, :2].copy()

    def judge(self, descriptors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Minus the distance to the goal, scaled, [...]; no end: an ant on its back may lie until the time is up."""
        distance = np.sqrt(((descriptors - np.array(self.goal)) ** 2).sum(axis=-1))
        return -self.reward_scale * distance, np.zeros(distance.shape, bool)

    def reward(self, before: Physics, action: np.ndarray, after: Physics) -> np.ndarray:
        """That of the torso's place after the step, [n]."""
        return self.judge(after.qpos[:, :2])[0]

    def terminated(self, physics: Physics) -> np.ndarray:
        """Never."""
        return self.judge(physics.qpos[:, :2])[1]
