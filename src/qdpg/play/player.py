"""Playing a population: one interface, one player per family of tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from qdpg.cluster.engine import RayEngine
from qdpg.learn.networks import MLP
from qdpg.play.acting import NO_NOISE, Noise, RollIn
from qdpg.play.rollouts import Rollouts
from qdpg.tasks.registry import make_task
from qdpg.tasks.task import JaxTask, MujocoTask, Task


class Player(Protocol):
    """Turns policies and seeds into real episodes."""

    def play(
        self,
        population: MLP,
        seeds: np.ndarray,
        *,
        noise: Noise = NO_NOISE,
        record: bool = True,
        roll_in: RollIn | None = None,
    ) -> Rollouts:
        """Play N episodes, one per policy.

        The same policy, seed and noise give the same episode bit for bit, whatever the number of threads and
        whatever else is in the population.

        Args:
            population: N stacked policies.
            seeds: [N] non-negative integers, one reset seed per episode.
            noise: Noise on the actions, drawn from the seeds.
            record: Whether to keep observations and actions.
            roll_in: Guides that act first in some episodes; the population then holds them behind the N policies.
        """
        ...


def make_player(task: str | Task, threads: int = 0) -> Player:
    """Return a player for `task`.

    Args:
        task: What is to be played, or its name.
        threads: Threads for native physics; 0 means all cores.

    Examples:
        >>> import qdpg
        >>> elites = qdpg.load_run("runs/doc").elites
        >>> rollouts = qdpg.make_player("point-maze").play(elites.population(), seeds=elites.seeds)
        >>> bool((rollouts.fitness == elites.fitness).all())  # exactly what was stored
        True
    """
    task = task if isinstance(task, Task) else make_task(task)
    # Imported here: each family brings its own heavy library, and a run needs only one.
    if isinstance(task, JaxTask):
        from qdpg.play.jax_player import JaxPlayer

        return JaxPlayer(task)
    if isinstance(task, MujocoTask):
        from qdpg.play.mujoco_player import MujocoPlayer

        return MujocoPlayer(task, threads)
    from qdpg.play.gymnasium_player import GymnasiumPlayer
    from qdpg.tasks.gymnasium import GymnasiumTask

    if isinstance(task, GymnasiumTask):
        return GymnasiumPlayer(task)
    raise TypeError(f"{type(task).__name__} is no JaxTask, MujocoTask or GymnasiumTask")


@contextmanager
def open_player(
    task: Task,
    engine: RayEngine | None = None,
    say: Callable[[str], None] = lambda sentence: None,
    ready: Player | None = None,
) -> Iterator[Player]:
    """A player for `task` in this process, or on Ray for as long as it is needed.

    Args:
        task: What is to be played.
        engine: Which Ray; None for this process.
        say: Told in a sentence what a person should know about the cluster.
        ready: A player for the task that is there already, if so; it is used instead.

    Raises:
        UserError: There is no Ray.
    """
    if ready is not None or engine is None:
        yield ready or make_player(task)
        return
    from qdpg.cluster.connect import connected

    with connected(engine) as ray:
        from qdpg.play.ray_player import RayPlayer

        player = RayPlayer(ray, task, engine.workers, say)
        try:
            yield player
        finally:
            player.close()
