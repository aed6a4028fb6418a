"""Playing a population on Ray: every process plays a share, and rollouts are joined in order.

An episode is its policy, its seed and its noise, so results do not depend on how many processes there are, who plays
what, or how often one died. Every policy travels once, to the process that plays it; policies that are made when they
are needed (`judging.py`) are made there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from qdpg.cluster.nodes import Node, this_node
from qdpg.cluster.own_code import find_own_file
from qdpg.compiled import cache_compiled_programs
from qdpg.errors import DivergedError, UserError
from qdpg.learn.networks import MLP, take_policies
from qdpg.play.acting import NO_NOISE, Noise, RollIn
from qdpg.play.judging import Outcomes, Policies, come_to, split
from qdpg.play.player import make_player
from qdpg.play.ray_pool import Job, Pool
from qdpg.play.rollouts import Rollouts, concatenate
from qdpg.tasks.task import Task

_FEW = 16  # episodes that are played at once by one process for about the price of one after the other
_TURNS = 4  # parts per process if there are many episodes: who has short ones takes more


class RayPlayer:
    """Plays any task on Ray."""

    def __init__(
        self, ray: ModuleType, task: Task, workers: int | None = None, say: Callable[[str], None] = print
    ) -> None:
        """Start processes; they keep a core each until `close`.

        Args:
            ray: The module, connected.
            task: What is to be played.
            workers: How many; None for as many as the cluster has cores.
            say: Told in a sentence what a person should know.
        """
        self.task, self._ray = task, ray
        actor = ray.remote(_Worker).options(num_cpus=1)
        _carry_along(type(task).__module__)
        shared = ray.put(task)

        def start() -> tuple[Any, Any]:
            worker = actor.remote()
            return worker, worker.introduce.remote(shared)

        self.pool = Pool(ray, start, workers, say)

    def close(self) -> None:
        """End the processes."""
        self.pool.close()

    def play(
        self,
        population: MLP,
        seeds: np.ndarray,
        *,
        noise: Noise = NO_NOISE,
        record: bool = True,
        roll_in: RollIn | None = None,
    ) -> Rollouts:
        """Play one episode per policy; see `Player.play`."""
        seeds = np.asarray(seeds)
        population = take_policies(population, slice(None))  # as NumPy's, which travel without a copy
        jobs: list[Job] = [
            ("play", *_share(population, rows, noise, roll_in), seeds[rows], record)
            for rows in split(len(seeds), self._share_size(len(seeds)))
        ]
        return concatenate([_checked(part) for part in self.pool.work(jobs)])

    def judge(self, policies: Policies, seeds: np.ndarray, noise: Noise, chunk: int) -> Iterator[Outcomes]:
        """Play one episode of each policy, on all processes at once; see `judging.judge`."""
        rule = self._ray.put(policies)
        shares = split(len(seeds), min(chunk, self._share_size(len(seeds))))
        jobs: list[Job] = [("judge", rule, rows, seeds[rows], noise) for rows in shares]
        for part in self.pool.work(jobs):
            yield _checked(part)

    def _share_size(self, number: int) -> int:
        """How many of `number` episodes a process plays at once."""
        each = math.ceil(number / self.pool.size)
        return max(each, 1) if each <= _FEW else max(_FEW, math.ceil(each / _TURNS))


class _Worker:
    """What an actor does. Errors that a person can act on are returned, so that they keep their one sentence."""

    def introduce(self, task: Task) -> Node:
        """Make ready to play `task`; say where."""
        cache_compiled_programs()
        self._player = make_player(task, threads=1)
        return self.present()

    def present(self) -> Node:
        """Say where this is."""
        return this_node()

    def play(
        self, population: MLP, noise: Noise, roll_in: RollIn | None, seeds: np.ndarray, record: bool
    ) -> Rollouts | Exception:
        """Play a share of a population."""
        try:
            return self._player.play(population, seeds, noise=noise, record=record, roll_in=roll_in)
        except (UserError, DivergedError) as error:
            return error

    def judge(self, policies: Policies, rows: np.ndarray, seeds: np.ndarray, noise: Noise) -> Outcomes | Exception:
        """Make a share of policies, and play them."""
        try:
            return come_to(self._player.play(policies.make(rows), seeds, noise=noise, record=False))
        except (UserError, DivergedError) as error:
            return error


def _share(population: MLP, rows: np.ndarray, noise: Noise, roll_in: RollIn | None) -> tuple[MLP, Noise, RollIn | None]:
    """What the episodes `rows`, neighbours, need of policies, noise and guides."""
    part = slice(rows[0], rows[-1] + 1)
    if np.ndim(noise.sigma):
        noise = noise._replace(sigma=np.asarray(noise.sigma)[part])
    if roll_in is None:
        return take_policies(population, part), noise, None
    led = np.flatnonzero(roll_in.steps[rows])
    guides = np.arange(len(rows))
    guides[led] = len(rows) + np.arange(len(led))
    policies = take_policies(population, np.concatenate([rows, roll_in.guides[rows][led]]))
    return policies, noise, RollIn(guides, roll_in.steps[rows], roll_in.limits[rows])


def _checked(result: Any) -> Any:
    """Raise what a process returned instead of a result."""
    if isinstance(result, Exception):
        raise result
    return result


def _carry_along(module: str) -> None:
    """Let a task in the user's own file travel with its code."""
    from ray import cloudpickle

    if find_own_file(module) is not None:
        cloudpickle.register_pickle_by_value(sys.modules[module])
