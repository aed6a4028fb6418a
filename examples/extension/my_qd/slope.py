"""A task of one's own: a point on a slope, paid for height; it ends where it steps off the floor."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from qdpg.tasks import JaxTask, TaskSpec


class State(NamedTuple):
    """Where the point is."""

    position: jax.Array  # [2]


@dataclass(frozen=True)
class Slope(JaxTask):
    """A slope.

    Attributes:
        steepness: Reward per metre of height.
        horizon: Steps until the episode is cut.
    """

    steepness: float = 1.0
    horizon: int = 50

    @property
    def spec(self):
        """Sizes and bounds."""
        return TaskSpec(
            name="my-slope",
            observation_size=2,
            action_size=2,
            horizon=self.horizon,
            action_low=(-0.05, -0.05),
            action_high=(0.05, 0.05),
            descriptor_low=(-1.0, -1.0),
            descriptor_high=(1.0, 1.0),
            fitness_floor=-float(self.horizon),
        )

    def reset(self, key):
        """Start near the middle."""
        return State(0.1 * jax.random.uniform(key, (2,), minval=-1.0, maxval=1.0))

    def step(self, state, action):
        """Walk; height is y."""
        position = state.position + 0.05 * jnp.clip(action, -1.0, 1.0)
        is_off = jnp.any(jnp.abs(position) > 1.0)
        return State(jnp.clip(position, -1.0, 1.0)), self.steepness * position[1], is_off

    def observe(self, state):
        """The position."""
        return state.position

    def describe(self, state):
        """The position."""
        return state.position
