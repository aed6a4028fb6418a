"""What one run came to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qdpg.errors import UserError
from qdpg.runs.run import Run

_METRICS = ("steps", "seconds", "coverage", "qd_score", "best_fitness")
_EVALUATIONS = ("steps", "best_fitness", "elite_mean_fitness")
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Result:
    """A run with its logs read. Numbers that are not known are NaN."""

    run: Run
    name: str  # its directory, relative to where it was looked for
    metrics: Columns  # may be empty
    evaluations: Columns  # may be empty

    @property
    def steps(self) -> int:
        """Environment steps played so far."""
        return int(_last(self.metrics, "steps", 0))

    @property
    def is_finished(self) -> bool:
        """Whether it played all its steps, or solved the task if it was to go on until then."""
        is_solved = self.run.config["until_solved"] and np.isfinite(self.steps_to_reliable_elite)
        return bool(self.metrics) and (self.steps >= self.run.config["steps"] or is_solved)

    @property
    def final(self) -> float:
        """Best fitness in the last deterministic evaluation of the current population: the paper's performance."""
        return _last(self.evaluations, "best_fitness")

    @property
    def best_elite(self) -> float:
        """Best fitness in the collection at the end, as it was found."""
        return _last(self.metrics, "best_fitness")

    @property
    def coverage(self) -> float:
        """Share of cells filled at the end."""
        return _last(self.metrics, "coverage")

    @property
    def qd_score(self) -> float:
        """QD score at the end."""
        return _last(self.metrics, "qd_score")

    @property
    def seconds(self) -> float:
        """Wall-clock time of training."""
        return _last(self.metrics, "seconds")

    @property
    def speed(self) -> float:
        """Environment steps per second."""
        return self.steps / self.seconds if self.seconds > 0 else np.nan

    @cached_property
    def peak_memory(self) -> float:
        """The most bytes of memory that it took."""
        return self.run.peak_memory()

    @property
    def steps_to_goal(self) -> float:
        """Steps until an evaluated policy solved the task, infinite if none did."""
        return self._steps_until("best_fitness")

    @property
    def steps_to_reliable_elite(self) -> float:
        """Steps until an elite solved the task on average over fresh starts, infinite if none did."""
        return self._steps_until("elite_mean_fitness")

    def _steps_until(self, name: str) -> float:
        solved = self.run.task.spec.solved
        if solved is None:
            return np.nan
        reached = self.evaluations.get("steps", np.array([]))[self.evaluations.get(name, np.array([])) >= solved]
        return float(reached[0]) if len(reached) else np.inf


def read_result(run: Run, name: str) -> Result:
    """Read the logs of a run.

    Raises:
        UserError: A log is missing that the run must have written, or is damaged.
    """
    if not (run.path / "metrics.csv").exists() and not (run.path / "checkpoints").exists():
        return Result(run, name, {}, {})  # it has only just been started
    metrics, evaluations = run.metrics(), run.evaluations()
    _check(metrics, _METRICS, run.path / "metrics.csv")
    if evaluations:
        _check(evaluations, _EVALUATIONS, run.path / "evaluations.csv")
    if not len(metrics["steps"]):
        return Result(run, name, {}, {})
    if not evaluations and metrics["steps"][-1] >= run.task.spec.evaluate_every:
        raise UserError(f"{run.path / 'evaluations.csv'} is missing; restore the file or leave the run out.")
    return Result(run, name, metrics, evaluations)


def _check(columns: Columns, wanted: tuple[str, ...], path: object) -> None:
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise UserError(f"{path} is damaged: it has no column {missing[0]!r}.")
    if np.isnan(columns["steps"]).any() or (np.diff(columns["steps"]) < 0).any():
        raise UserError(f"{path} is damaged: its steps do not ascend.")


def _last(columns: Columns, name: str, otherwise: float = np.nan) -> float:
    return float(columns[name][-1]) if len(columns.get(name, ())) else otherwise
