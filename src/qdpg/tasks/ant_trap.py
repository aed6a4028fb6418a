"""ant-trap: an ant is paid for running forward, and three walls in front of it form a dead end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import mujoco
import numpy as np

from qdpg.errors import UserError
from qdpg.ranges import Horizon
from qdpg.tasks.ant import POSITION_SCALE, QUARTER_TURN, VELOCITY_SCALE, AntBody, AntTask, build_ant
from qdpg.tasks.task import Box, Floor, Physics, TaskSpec

WALLS = (Box(12, 0, 0.1, 2.6), Box(8.9, 2.6, 3, 0.1), Box(8.9, -2.6, 3, 0.1))
LOW, HIGH = np.array([0.0, -8.0]), np.array([30.0, 8.0])  # descriptors are clipped to this
SCALE = (128.0, 32.0, *POSITION_SCALE, *VELOCITY_SCALE)  # of observations without contact forces
HEALTHY = (0.2, 1.0)  # torso height outside which the episode ends

# A quarter turn (see `QUARTER_TURN`) of torques and forces on 14 bodies: the world, the torso, three parts of each leg.
_FORCES = ((1, -1), (0, 1), (2, 1), (4, -1), (3, 1), (5, 1))
_BODIES = (0, 1, *(2 + 3 * ((leg - 1) % 4) + part for leg in range(4) for part in range(3)))
TURNED_CONTACT = tuple((29 + 6 * body + source, sign) for body in _BODIES for source, sign in _FORCES)
CONTROL_COST, CONTACT_COST, SURVIVAL = 0.5, 0.0005, 1.0


@dataclass(frozen=True)
class AntTrap(AntTask):
    """The trap, with Ant-v2's full reward.

    Attributes:
        contact: What the 84 contact-force observations hold: "zeros", as MuJoCo 2.0 and so the paper's software
            produced; "measured", the real forces clipped to ±1, which then also cost reward; or "left-out", for 29
            observations.
        horizon: Steps until the episode is cut.
    """

    contact: Literal["zeros", "measured", "left-out"] = "zeros"
    horizon: Horizon = 1000

    body: ClassVar[AntBody] = AntBody()

    def __post_init__(self) -> None:
        """Refuse what is not an option."""
        if self.contact not in ("zeros", "measured", "left-out"):
            raise UserError(f"ant-trap's option contact is zeros, measured or left-out, not {self.contact!r}.")

    @property
    def spec(self) -> TaskSpec:
        """Sizes, bounds and reference scores (docs/tasks.md says how each was computed)."""
        seen, acted = QUARTER_TURN
        return TaskSpec(
            name="ant-trap",
            observation_size=29 if self.contact == "left-out" else 113,
            action_size=8,
            horizon=self.horizon,
            action_low=(-1.0,) * 8,
            action_high=(1.0,) * 8,
            descriptor_low=tuple(LOW.tolist()),
            descriptor_high=tuple(HIGH.tolist()),
            fitness_floor=-3000.0,  # full effort for nothing, to the end
            evaluate_every=150_000,
            located=((0, 1.0, 0.0), (1, 1.0, 0.0)),
            observation_scale=SCALE + (1.0,) * 84 if self.measures_contact else SCALE,
            quarter_turn=((*seen, *TURNED_CONTACT), acted) if self.measures_contact else QUARTER_TURN,
            references={"scripted": 1600.0, "deceptive": 1225.0, "random": -18.0, "motionless": 1000.0},
            floor=Floor(low=(-3.0, -8.0), high=(30.0, 8.0), walls=WALLS, start=Box(0, 0, 0.1, 0.1), pull="forward"),
        )

    @property
    def measures_contact(self) -> bool:
        """Only if asked to."""
        return self.contact == "measured"

    def build(self) -> mujoco.MjModel:
        """The ant before three walls."""
        return build_ant(self.body, WALLS, sense_contact=self.measures_contact)

    def observe(self, physics: Physics) -> np.ndarray:
        """Positions with raw x and y, velocities, contact forces, [n, 113] or [n, 29]."""
        parts = [physics.qpos, physics.qvel]
        if self.contact == "zeros":
            parts.append(np.zeros((len(physics.qpos), 84)))
        elif self.contact == "measured":
            parts.append(_clipped_contact(physics).reshape(len(physics.qpos), 84))
        return np.concatenate(parts, axis=1)

    def describe(self, physics: Physics) -> np.ndarray:
        """The torso's x and y, clipped to the range of interest, [n, 2]."""
        return np.clip(physics.qpos[:, :2], LOW, HIGH)

    def reward(self, before: Physics, action: np.ndarray, after: Physics) -> np.ndarray:
        """Forward velocity, minus the costs of control and contact, plus one for being alive, [n]."""
        seconds = self.body.timestep * self.frame_skip
        velocity = (after.qpos[:, 0] - before.qpos[:, 0]) / seconds
        cost = CONTROL_COST * np.einsum("na,na->n", action, action, dtype=np.float64)
        if self.measures_contact:
            cost = cost + CONTACT_COST * (_clipped_contact(after) ** 2).sum(axis=(1, 2))
        return velocity - cost + SURVIVAL

    def terminated(self, physics: Physics) -> np.ndarray:
        """When the torso is too low or too high."""
        height = physics.qpos[:, 2]
        return (height < HEALTHY[0]) | (height > HEALTHY[1])


def _clipped_contact(physics: Physics) -> np.ndarray:
    """External contact forces within ±1, [n, 14, 6]."""
    assert physics.contact is not None
    return np.clip(physics.contact, -1.0, 1.0)
