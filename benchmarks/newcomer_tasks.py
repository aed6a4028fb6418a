"""Three tasks as a newcomer would write them in the first hour: an arm, a walker by its feet, an ant by where it goes.

    python benchmarks/judge.py --tasks newcomer_tasks:arm newcomer_tasks:walker newcomer_tasks:ant --steps 30000 \
        --algorithms dc-qd-pg map-elites pga-me --set cells=7,7 --seeds 1 2 3 --out runs/newcomer --rows ROWS

General settings were neither chosen nor judged on them.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from qdpg.tasks.gymnasium import GymnasiumTask


class Arm(gymnasium.Env):
    """Two joints without gravity, moved by torques; it is paid for saving effort."""

    observation_space = Box(-10.0, 10.0, (6,), np.float32)
    action_space = Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Start nearly stretched out."""
        super().reset(seed=seed)
        self.angles, self.speeds = self.np_random.uniform(-0.1, 0.1, 2), np.zeros(2)
        return self._see(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Turn both joints for a twentieth of a second."""
        self.speeds = 0.9 * self.speeds + 0.3 * np.asarray(action, np.float64)
        self.angles = self.angles + 0.05 * self.speeds
        return self._see(), float(1.0 - np.square(action).mean()), False, False, {}

    def _see(self) -> np.ndarray:
        first, both = self.angles[0], self.angles.sum()
        tip = [np.cos(first) + np.cos(both), np.sin(first) + np.sin(both)]
        return np.array([*tip, *self.angles, *self.speeds], np.float32).clip(-10.0, 10.0)


arm = GymnasiumTask(env=Arm, descriptor=(0, 1), low=(-2.0, -2.0), high=(2.0, 2.0), horizon=100, name="arm")
walker = GymnasiumTask(env="Walker2d-v5", descriptor="feet", behaviour="mean", low=(0.0, 0.0), high=(1.0, 1.0))
ant = GymnasiumTask(env="Ant-v5", descriptor="position", low=(-10.0, -10.0), high=(10.0, 10.0))
