"""`qdpg.make_algorithm`: an algorithm on its own, for those who have a loop of their own."""

from __future__ import annotations

from typing import Any

from qdpg.algorithms.algorithm import Algorithm, TriesOut
from qdpg.algorithms.registry import make_algorithm as make_from_config
from qdpg.algorithms.registry import make_config, name_algorithm
from qdpg.play.player import make_player
from qdpg.ranges import SEED
from qdpg.tasks.registry import make_task
from qdpg.tasks.task import Task


def make_algorithm(
    algorithm: str | type[Algorithm] | None, task: str | Task, seed: int = 0, preset: str = "tuned", **settings: Any
) -> Algorithm:
    """Return a fresh algorithm, an `ask`/`tell` pair.

    Args:
        algorithm: See `qdpg algorithms`, or a class of your own; None takes the default.
        task: What it is to solve, or its name.
        seed: What all random draws come from.
        preset: "tuned" or "paper".
        **settings: Settings on top; see `qdpg settings ALGORITHM`.

    Raises:
        UserError: There is no such algorithm, preset or setting, or they do not fit the task.

    Examples:
        >>> import qdpg
        >>> task = qdpg.make_task("point-maze")
        >>> player = qdpg.make_player(task)
        >>> algorithm = qdpg.make_algorithm("map-elites", task, population=20, hidden=(8, 8))
        >>> for _ in range(3):
        ...     generation = algorithm.ask()
        ...     told = algorithm.tell(generation, generation.play(player))
        >>> len(algorithm.elites) > 3
        True
    """
    made = task if isinstance(task, Task) else make_task(task)
    name, seed = name_algorithm(algorithm, preset), SEED.whole(seed, "seed")
    result = make_from_config(name, made.spec, make_config(name, preset, made.spec, settings), seed)
    if isinstance(result, TriesOut):
        result.player = make_player(made)
    return result
