"""Tasks on which general settings are chosen, beside halfcheetah-uni, hopper-uni and ant-omni: a maze and an arm.

Settings are judged on others (`judging_tasks.py`). `benchmarks/judge.py` runs both.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from qdpg.tasks.gymnasium import GymnasiumTask


class Corridors(gymnasium.Env):
    """A cart with little grip in three corridors, one behind the other; it is paid for going slowly."""

    observation_space = Box(-3.0, 3.0, (4,), np.float32)
    action_space = Box(-1.0, 1.0, (2,), np.float32)
    walls = ((0.33, -1.0, 0.5), (-0.33, -0.5, 1.0))  # height, and from where to where

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Start in the upper corridor, on the left."""
        super().reset(seed=seed)
        self.place = np.array([-0.8, 0.7]) + self.np_random.uniform(-0.1, 0.1, 2)
        self.speed = np.zeros(2)
        return self._see(), self._tell()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Roll on; walls stop what hits them."""
        self.speed = 0.85 * self.speed + 0.008 * np.asarray(action, np.float64)
        after = np.clip(self.place + self.speed, -1.0, 1.0)
        for height, left, right in self.walls:
            if (self.place[1] - height) * (after[1] - height) < 0 and left < self.place[0] < right:
                after[1], self.speed[1] = height + np.copysign(1e-3, self.place[1] - height), 0.0
        self.place = after
        return self._see(), float(1.0 - 10.0 * np.abs(self.speed).mean()), False, False, self._tell()

    def _see(self) -> np.ndarray:
        return np.concatenate([self.place, 20.0 * self.speed]).astype(np.float32)

    def _tell(self) -> dict[str, np.ndarray]:
        return {"state_descriptor": self.place.astype(np.float32)}


corridors = GymnasiumTask(
    env=Corridors,
    low=(-1.0, -1.0),
    high=(1.0, 1.0),
    descriptor_names=("x", "y"),
    horizon=250,
    fitness_floor=0.0,
    name="corridors",
)


def fingertip(observation: np.ndarray, info: dict[str, Any]) -> np.ndarray:
    """Where the end of Reacher's arm is: two links of 0.1 and 0.11 m; the observation has cosines, then sines."""
    cosine, further_cosine, sine, further_sine = observation[:4]
    both = cosine * further_cosine - sine * further_sine, sine * further_cosine + cosine * further_sine
    return np.array([0.1 * cosine + 0.11 * both[0], 0.1 * sine + 0.11 * both[1]], np.float32)


reacher = GymnasiumTask(
    env="Reacher-v5",
    descriptor=fingertip,
    descriptor_names=("x", "y"),
    low=(-0.22, -0.22),
    high=(0.22, 0.22),
    fitness_floor=-60.0,
    name="reacher",
)
