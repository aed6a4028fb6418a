"""A MuJoCo task whose body is damaged: some actuators no longer push."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from qdpg.errors import UserError
from qdpg.tasks.task import MujocoTask, Physics, TaskSpec, compile_model


@dataclass(frozen=True)
class Damaged(MujocoTask):
    """The same task, body and rewards, but actuators `disabled` have no effect. Policies do not know.

    Attributes:
        task: What the policies were trained on.
        disabled: Numbers of the actuators.
    """

    task: MujocoTask
    disabled: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse actuators that are not there."""
        number = compile_model(self.task).nu
        if not all(0 <= each < number for each in self.disabled):
            raise UserError(f"{self.task.spec.name} has actuators 0 to {number - 1}, but {self.disabled} were named.")

    @property
    def frame_skip(self) -> int:  # type: ignore[override]
        """As of the task."""
        return self.task.frame_skip

    @property
    def spec(self) -> TaskSpec:
        """As of the task."""
        return self.task.spec

    @property
    def measures_contact(self) -> bool:
        """As of the task."""
        return self.task.measures_contact

    def build(self) -> mujoco.MjModel:
        """The body, without force in the disabled actuators."""
        model = self.task.build()
        model.actuator_gear[list(self.disabled)] = 0.0
        return model

    def start(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """As of the task."""
        return self.task.start(seed)

    def observe(self, physics: Physics) -> np.ndarray:
        """As of the task, [n, O]."""
        return self.task.observe(physics)

    def describe(self, physics: Physics) -> np.ndarray:
        """As of the task, [n, D]."""
        return self.task.describe(physics)

    def reward(self, before: Physics, action: np.ndarray, after: Physics) -> np.ndarray:
        """As of the task, [n]."""
        return self.task.reward(before, action, after)

    def terminated(self, physics: Physics) -> np.ndarray:
        """As of the task, [n]."""
        return self.task.terminated(physics)


def legs(task: MujocoTask) -> dict[str, tuple[int, ...]]:
    """Groups of actuators that belong together, by name: those of joints whose names end in the same number."""
    model = compile_model(task)
    groups: dict[str, tuple[int, ...]] = {}
    for actuator in range(model.nu):
        if model.actuator_trntype[actuator] != mujoco.mjtTrn.mjTRN_JOINT:
            continue
        joint = model.joint(model.actuator_trnid[actuator, 0]).name
        limb, _, number = joint.rpartition("_")
        name = f"leg {number}" if limb and number.isdigit() else joint
        groups[name] = (*groups.get(name, ()), actuator)
    return dict(sorted(groups.items()))
