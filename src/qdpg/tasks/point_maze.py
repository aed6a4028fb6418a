"""point-maze: a point in a 2-D maze whose walls stand between the start and the goal.

The reward pulls straight towards the goal, into the walls; the way out is first left, then right.
Numbers and collision rules are those of the paper's company's own environment (docs/tasks.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from qdpg.later import later
from qdpg.ranges import Horizon, Number
from qdpg.tasks.task import Box, Floor, GoalTask, JaxTask, TaskSpec

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = later("jax"), later("jax.numpy")

STEP = 0.1  # largest move per axis and step
LOWER_WALL = (-0.5, -0.49)  # its two faces; solid for x >= -0.5
LOWER_TIP = -0.5
UPPER_WALL = (0.2, 0.21)  # solid for x <= 0.5
UPPER_TIP = 0.5
GOAL_HALF = 0.05
START = Box(0.0, -0.85, 0.1, 0.15)


class PointState(NamedTuple):
    """Where the point is."""

    position: jax.Array  # [2]


@dataclass(frozen=True)
class PointMaze(JaxTask, GoalTask):
    """The 2-D maze.

    Attributes:
        goal: Centre of the square goal zone; adaptation experiments move it.
        horizon: Steps until the episode is cut.
    """

    goal: tuple[Number, Number] = (-0.5, 0.8)
    horizon: Horizon = 200

    @property
    def spec(self) -> TaskSpec:
        """Sizes, bounds and reference scores (docs/tasks.md says how each was computed)."""
        return TaskSpec(
            name="point-maze",
            observation_size=2,
            action_size=2,
            horizon=self.horizon,
            action_low=(-STEP, -STEP),
            action_high=(STEP, STEP),
            descriptor_low=(-1.0, -1.0),
            descriptor_high=(1.0, 1.0),
            solved=-30.0,
            fitness_floor=-469.0,  # 200 steps in the corner farthest from the goal
            evaluate_every=5_000,
            located=((0, 1.0, 0.0), (1, 1.0, 0.0)),
            references={"scripted": -23.6, "deceptive": -126.3, "random": -333.0, "motionless": -345.0},
            floor=Floor(
                low=(-1.0, -1.0),
                high=(1.0, 1.0),
                walls=(
                    Box((LOWER_TIP + 1) / 2, sum(LOWER_WALL) / 2, (1 - LOWER_TIP) / 2, 0.005),
                    Box((UPPER_TIP - 1) / 2, sum(UPPER_WALL) / 2, (1 + UPPER_TIP) / 2, 0.005),
                ),
                start=START,
                goal=Box(*self.goal, GOAL_HALF, GOAL_HALF),
                pull="goal",
            ),
        )

    def reset(self, key: jax.Array) -> PointState:
        """Start anywhere in the start box, uniformly."""
        centre, half = jnp.array([START.x, START.y]), jnp.array([START.half_x, START.half_y])
        return PointState(centre + half * jax.random.uniform(key, (2,), minval=-1.0, maxval=1.0))

    def step(self, state: PointState, action: jax.Array) -> tuple[PointState, jax.Array, jax.Array]:
        """Move by STEP · action, slide along walls, stay in the box; end in the goal zone."""
        position = move(state.position, STEP * jnp.clip(action, -1.0, 1.0))
        return PointState(position), *self.judge(position)

    def judge(self, descriptors: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Minus the distance to the goal, [...], and whether a position [..., 2] is in the goal zone, [...]."""
        offset = descriptors - jnp.array(self.goal)
        return -jnp.sqrt(jnp.sum(offset**2, axis=-1)), jnp.all(jnp.abs(offset) <= GOAL_HALF, axis=-1)

    def observe(self, state: PointState) -> jax.Array:
        """The position itself."""
        return state.position

    def describe(self, state: PointState) -> jax.Array:
        """The position itself."""
        return state.position


def move(old: jax.Array, increment: jax.Array) -> jax.Array:
    """Move from `old` [2] by `increment` [2]; a wall in the way stops y, while x keeps its full move.

    A wall is hit where the straight segment crosses the height of its LOWER face, from either side, and its tip is
    solid. The upper wall sees y as the lower wall has corrected it.
    """
    x_old, y_old = old
    x_new, y = old + increment
    (low, low_top), (up, up_top) = LOWER_WALL, UPPER_WALL

    def crossing(height: float, y_new: jax.Array) -> jax.Array:
        """Abscissa at which the segment passes `height`; unused when it is level, so any divisor will do there."""
        rise = jnp.where(y_new == y_old, 1.0, y_new - y_old)
        return x_old + (height - y_old) / rise * (x_new - x_old)

    solid = crossing(low, y) >= LOWER_TIP
    from_below = (y_old <= low) & (low < y) & solid
    from_above = (y < low_top) & (low_top <= y_old) & (y_old < up) & solid
    y = jnp.where(from_below, low, jnp.where(from_above, low_top, y))

    solid = crossing(up, y) <= UPPER_TIP
    from_above = (y_old >= up_top) & (up_top > y) & solid
    from_below = (y > up) & (up >= y_old) & (y_old > low) & solid
    y = jnp.where(from_above, up_top, jnp.where(from_below, up, y))
    return jnp.clip(jnp.stack([x_new, y]), -1.0, 1.0)
