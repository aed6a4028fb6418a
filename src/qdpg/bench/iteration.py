"""Where the time of a QD-PG generation goes, with the paper's settings."""

from __future__ import annotations

import time

from qdpg.algorithms.algorithm import KINDS
from qdpg.algorithms.qd_pg import QDPG, preset
from qdpg.play.player import make_player
from qdpg.tasks.registry import make_task

# Ants with shorter episodes: every kind of work grows in proportion, the shares stay.
TASKS: dict[str, dict[str, int]] = {"point-maze": {}, "ant-maze": {"horizon": 150}, "ant-trap": {"horizon": 150}}


def measure_iteration(turns: int = 5) -> dict[str, dict[str, float]]:
    """Play `turns` generations of each task after two to warm up; return the share of each kind of work."""
    return {name: _measure(name, options, turns) for name, options in TASKS.items()}


def _measure(name: str, options: dict[str, int], generations: int) -> dict[str, float]:
    task = make_task(name, **options)
    algorithm, player = QDPG(task.spec, preset("paper", name), seed=0), make_player(task)

    def advance(number: int) -> float:
        began = time.perf_counter()
        for _ in range(number):
            generation = algorithm.ask()
            with algorithm.clock.time("physics"):
                rollouts = generation.play(player)
            algorithm.tell(generation, rollouts)
        return time.perf_counter() - began

    advance(2)
    algorithm.clock.seconds.clear()
    steps = algorithm.steps
    seconds = advance(generations)
    shares = {kind: algorithm.clock.seconds[kind] / seconds for kind in KINDS}
    return {**shares, "rest": 1 - sum(shares.values()), "env_steps_per_s": (algorithm.steps - steps) / seconds}
