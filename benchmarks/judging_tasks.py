"""Tasks on which general settings are judged, and never chosen: Pusher, Swimmer and a maze of our own.

    cd benchmarks
    qdpg compare --tasks walker2d-uni ant-uni judging_tasks:pusher judging_tasks:swimmer judging_tasks:rooms \
        --algorithms dc-qd-pg qd-pg pga-me dcrl-me map-elites --seeds 3 --steps 200000 --out ../runs/any-task
    qdpg report ../runs/any-task

`docs/research/any-task.md` says which tasks settings are chosen on.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from qdpg.tasks.gymnasium import GymnasiumTask

pusher = GymnasiumTask(
    env="Pusher-v5",
    descriptor=(17, 18),  # where the object is
    descriptor_names=("object x", "object y"),
    low=(-0.2, -0.6),
    high=(0.9, 0.6),
    fitness_floor=-150.0,
    name="pusher",
)

swimmer = GymnasiumTask(
    env="Swimmer-v5",
    kwargs={"exclude_current_positions_from_observation": False},
    descriptor=(0, 1),
    descriptor_names=("x", "y"),
    low=(-5.0, -5.0),
    high=(5.0, 5.0),
    fitness_floor=-300.0,
    name="swimmer",
)


class Rooms(gymnasium.Env):
    """A puck with momentum in four rooms, each open to the next by a door; it is paid for being far from the middle."""

    observation_space = Box(-1.5, 1.5, (4,), np.float32)
    action_space = Box(-1.0, 1.0, (2,), np.float32)
    doors = ((0.0, 0.6), (0.6, 0.0), (0.0, -0.6))  # middles, on the walls x = 0 and y = 0; none between the last rooms
    half_door = 0.15

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Start in the upper left room."""
        super().reset(seed=seed)
        self.place = np.array([-0.5, 0.5]) + self.np_random.uniform(-0.1, 0.1, 2)
        self.speed = np.zeros(2)
        return self._see(), {"state_descriptor": self.place.astype(np.float32)}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Push; walls stop what hits them."""
        self.speed = 0.9 * self.speed + 0.01 * np.asarray(action, np.float64)
        for axis in range(2):
            before, after = self.place[axis], np.clip(self.place[axis] + self.speed[axis], -1.0, 1.0)
            if before * after < 0 and not self._at_door(axis):
                after, self.speed[axis] = np.copysign(1e-3, before), 0.0
            self.place[axis] = after
        reward = float(np.abs(self.place).max() - 0.1 * np.square(action).mean())
        return self._see(), reward, False, False, {"state_descriptor": self.place.astype(np.float32)}

    def _at_door(self, axis: int) -> bool:
        across = 1 - axis
        return any(door[axis] == 0.0 and abs(self.place[across] - door[across]) < self.half_door for door in self.doors)

    def _see(self) -> np.ndarray:
        return np.concatenate([self.place, 10.0 * self.speed]).astype(np.float32)


rooms = GymnasiumTask(
    env=Rooms,
    low=(-1.0, -1.0),
    high=(1.0, 1.0),
    descriptor_names=("x", "y"),
    horizon=200,
    fitness_floor=0.0,
    name="rooms",
)
