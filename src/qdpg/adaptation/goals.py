"""New goals for a collection: where they may be, and what every elite scores for them.

What policies see does not depend on the goal, so an elite takes the same way whatever the goal is, until it gets there.
Each elite is therefore played once, with the goal out of reach, and its way judged for every goal by the task itself.
Ways and ends are exactly those of playing with the goal moved; scores agree with it up to rounding.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from qdpg.errors import UserError
from qdpg.play.acting import NO_NOISE
from qdpg.play.player import make_player
from qdpg.play.rollouts import Rollouts, make_rollouts
from qdpg.play.starts import fresh_starts
from qdpg.runs.collection import Collection
from qdpg.tasks.task import GoalTask, Task

Starts = Literal["own", "fresh"]
_AT_ONCE = 256  # elites judged at a time, so that their ways stay in the cache


def movable(task: Task) -> GoalTask:
    """Return `task` as one whose goal can be moved.

    Raises:
        UserError: It is not.
    """
    if not isinstance(task, GoalTask) or task.spec.floor is None:
        raise UserError(f"{task.spec.name} has no goal that can be moved; adapt to goals in point-maze or ant-maze.")
    return task


def move_goal(task: GoalTask, goal: np.ndarray) -> GoalTask:
    """The same task with another goal, [2]."""
    return dataclasses.replace(task, goal=tuple(map(float, goal)))  # type: ignore[type-var]


def draw_goals(task: GoalTask, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draw goals [number, 2] uniformly where the agent can stand: on the floor, clear of walls."""
    floor = task.spec.floor
    assert floor is not None
    goals: list[np.ndarray] = []
    while len(goals) < number:
        goal = rng.uniform(floor.low, floor.high)
        gaps = [np.abs(goal - [wall.x, wall.y]) - [wall.half_x, wall.half_y] for wall in floor.walls]
        if all((gap > task.clearance).any() for gap in gaps):
            goals.append(goal)
    return np.array(goals)


def play_elites(task: GoalTask, elites: Collection, starts: Starts, seed: int) -> Rollouts:
    """Play every elite once, with no goal in reach.

    Args:
        task: What the elites were trained on.
        elites: Who plays.
        starts: "fresh" gives each elite one new start, drawn from `seed`, and no noise; "own" the start and noise of
            the episode that it was stored for, so that it behaves as stored, which is optimistic.
        seed: Where fresh starts come from.
    """
    floor = task.spec.floor
    assert floor is not None
    low, high = np.array(floor.low), np.array(floor.high)
    player = make_player(move_goal(task, high + 10 * (high - low)))
    if starts == "own":
        return player.play(elites.population(), elites.seeds, noise=elites.noise, record=False)
    return player.play(elites.population(), fresh_starts("adapt", len(elites), seed), noise=NO_NOISE, record=False)


def known_ways(task: GoalTask, elites: Collection) -> np.ndarray:
    """Mean descriptors along the way of every elite in the episode it was stored for, had no goal ended it, [N, D]."""
    played = play_elites(task, elites, "own", seed=0)
    steps = played.played()[:, :, None]
    return (played.descriptors[:, 1:] * steps).sum(axis=1) / steps.sum(axis=1)


def scores(task: GoalTask, played: Rollouts, goal: np.ndarray) -> np.ndarray:
    """What every elite scores for another goal, [N]: the fitness of its episode, had the goal been there.

    Args:
        task: What was played.
        played: Episodes that no goal ended, [N].
        goal: [2].
    """
    moved = move_goal(task, goal)
    shares = (slice(first, first + _AT_ONCE) for first in range(0, len(played.seeds), _AT_ONCE))
    return np.concatenate([_fitness(moved, played.take(share)) for share in shares])


def _fitness(task: GoalTask, played: Rollouts) -> np.ndarray:
    rewards, ended = (np.asarray(part) for part in task.judge(played.descriptors[:, 1:]))
    ended = ended & played.played()
    lengths = np.where(ended.any(axis=1), ended.argmax(axis=1) + 1, played.lengths)
    judged = make_rollouts(
        task.spec,
        seeds=played.seeds,
        lengths=lengths,
        terminated=ended.any(axis=1),
        rewards=rewards.astype(np.float32),  # what comes after the end is in no sum
        descriptors=played.descriptors,
        observations=None,
        actions=None,
    )
    return judged.fitness
