"""Ready-made state descriptors for Gymnasium environments on MuJoCo, as wrappers that put them into `info`.

    GymnasiumTask(env=lambda: FeetContact(gymnasium.make("Walker2d-v5"), feet=["foot_geom", "foot_left_geom"]), …)

or, by name, `GymnasiumTask(env="Walker2d-v5", descriptor="feet", behaviour="mean", low=(0, 0), high=(1, 1))`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import mujoco
import numpy as np

from qdpg.errors import UserError

INFO_KEY = "state_descriptor"
FOOT_WORDS = ("foot", "ankle", "toe")  # what feet are called; the first that fits any geom counts


class Described(gymnasium.Wrapper):
    """An environment whose info holds a state descriptor."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Reset, and describe the start."""
        observation, info = self.env.reset(**options)
        return observation, {**info, INFO_KEY: self.describe(observation)}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, and describe where that led."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, {**info, INFO_KEY: self.describe(observation)}

    def describe(self, observation: Any) -> np.ndarray:
        """ψ of the present state, [D]."""
        raise NotImplementedError


class Position(Described):
    """Where the robot is: the first coordinates of MuJoCo's qpos, x and y of a free body, or x of a planar one."""

    def __init__(self, env: gymnasium.Env, size: int | None = None) -> None:
        """Find out how many coordinates say where it is.

        Args:
            env: What is described.
            size: How many; None takes two if the robot can move freely, else one.
        """
        super().__init__(env)
        model, _ = _simulation(env)
        is_free = bool(model.njnt) and model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
        self.size = (2 if is_free else 1) if size is None else size

    def describe(self, observation: Any) -> np.ndarray:
        """The coordinates."""
        return _simulation(self.env)[1].qpos[: self.size].copy()


class FeetContact(Described):
    """Which feet touch anything, 0 or 1 each; take the mean over the episode as behaviour."""

    def __init__(self, env: gymnasium.Env, feet: Sequence[str] = ()) -> None:
        """Find the feet.

        Args:
            env: What is described.
            feet: Names of geoms; if there are none, all whose name holds the word foot, else ankle, else toe.

        Raises:
            UserError: There is no such geom, or no foot.
        """
        super().__init__(env)
        model, _ = _simulation(env)
        names = [model.geom(i).name for i in range(model.ngeom)]
        if missing := [foot for foot in feet if foot not in names]:
            raise UserError(f"the model has no geom {missing[0]!r}; it has: {', '.join(filter(None, names))}.")
        found = list(feet) or next(
            (fits for word in FOOT_WORDS if (fits := [name for name in names if word in name.lower()])), []
        )
        if not found:
            raise UserError(f"the model has no geom that is called a foot; name them, of: {', '.join(names)}.")
        self.feet = np.array([model.geom(name).id for name in found])

    def describe(self, observation: Any) -> np.ndarray:
        """Which of them touch."""
        _, data = _simulation(self.env)
        touching = data.contact.geom[: data.ncon].ravel()
        return np.isin(self.feet, touching).astype(np.float32)


class MeanObservation(Described):
    """Some of the observations; take the mean over the episode as behaviour."""

    def __init__(self, env: gymnasium.Env, indices: Sequence[int]) -> None:
        """Remember which."""
        super().__init__(env)
        self.indices = list(indices)

    def describe(self, observation: Any) -> np.ndarray:
        """These observations."""
        return np.asarray(observation, np.float32).reshape(-1)[self.indices]


BY_NAME = {"position": Position, "feet": FeetContact}


def _simulation(env: gymnasium.Env) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The MuJoCo simulation inside an environment."""
    inner = env.unwrapped
    if not hasattr(inner, "model") or not hasattr(inner, "data"):
        raise UserError(
            "this descriptor needs an environment on MuJoCo, with `model` and `data`; write one of your own."
        )
    return inner.model, inner.data
