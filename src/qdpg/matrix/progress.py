"""How far the runs of a matrix have come, as their own files say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from qdpg.errors import UserError
from qdpg.matrix.matrix import PlannedRun
from qdpg.runs.files import read_json
from qdpg.runs.logs import read_last_row
from qdpg.runs.run import load_run
from qdpg.runs.ties import check_elites


@dataclass(frozen=True)
class Progress:
    """The newest row of a run's metrics."""

    steps: int = 0
    seconds: float = 0.0
    best_fitness: float = math.nan


@dataclass(frozen=True)
class Totals:
    """How far the whole matrix has come."""

    runs: int
    finished: int
    failed: int
    steps: int
    total_steps: int
    seconds_left: float  # NaN while nothing is known about speed


def read_progress(run: PlannedRun) -> Progress:
    """How far `run` has come; nothing if it has not finished a generation."""
    row = read_last_row(run.path / "metrics.csv")
    try:
        return Progress() if row is None else Progress(int(row["steps"]), row["seconds"], row["best_fitness"])
    except (KeyError, ValueError, OverflowError):  # damaged; the run's own process will say so
        return Progress()


def is_finished(run: PlannedRun) -> bool:
    """Whether nothing is left to do: its elites played all steps, and they and its logs are what it wrote.

    The elites' description is the last thing that a run writes. One that is damaged is not finished; its own process
    will say so, or write again what was lost.
    """
    try:
        found = load_run(run.path)
        check_elites(found.path, found.ties)
        for name in found.ties.logs if found.ties is not None else ():
            found.check_log(name)
        steps = read_json(run.path / "elites" / "elites.json")["steps"]
    except (OSError, UserError, KeyError):
        return False
    return isinstance(steps, int) and steps >= run.config.steps


def seconds_left(
    waiting: Iterable[PlannedRun], running: Iterable[PlannedRun], progress: Mapping[PlannedRun, Progress], jobs: int
) -> float:
    """Estimate how long the rest takes, with `jobs` runs at once.

    A run is taken to be as fast as the runs of the same task and algorithm have been on average; if there are none, as
    fast as the known ones are on average. NaN if none is known.
    """
    pace: dict[tuple[str, str], list[float]] = {}
    for run, seen in progress.items():
        if seen.steps and seen.seconds > 0:
            pace.setdefault((run.config.task, run.config.algorithm), []).append(seen.seconds / seen.steps)
    if not pace:
        return math.nan
    means = {kind: _mean(values) for kind, values in pace.items()}
    usual = _mean(list(means.values()))

    def left(run: PlannedRun) -> float:
        steps = max(run.config.steps - progress.get(run, Progress()).steps, 0)
        return steps * means.get((run.config.task, run.config.algorithm), usual)

    times = [left(run) for run in (*waiting, *running)]
    return max(sum(times) / jobs, max(times, default=0.0))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
