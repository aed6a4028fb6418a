"""What one run came to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qdpg.errors import UserError
from qdpg.runs.evaluated import ABOUT, read_evaluated_about
from qdpg.runs.run import Run
from qdpg.runs.solved import steps_to_solved
from qdpg.runs.ties import check_elites

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
        is_solved = self.run.config["until_solved"] and np.isfinite(self.steps_to_solved)
        return bool(self.metrics) and (self.steps >= self.run.config["steps"] or is_solved)

    @property
    def is_shown(self) -> bool:
        """Whether there is something to show: it is finished, or was interrupted after it had saved."""
        return self.is_finished or (bool(self.metrics) and (self.run.path / "elites" / ABOUT).exists())

    @property
    def final(self) -> float:
        """Best fitness in the last deterministic evaluation of the current population: the paper's performance."""
        return _last(self.evaluations, "best_fitness")

    @cached_property
    def evaluated(self) -> dict[str, Any]:
        """What `qdpg evaluate` found about the collection; empty if it has not been called since."""
        about = read_evaluated_about(self.run.path / "elites")
        return about if about and about.get("episodes") else {}

    @property
    def evaluated_best(self) -> float:
        """Mean fitness of the best elite, from fresh starts that it was not chosen by."""
        best = self.evaluated.get("best")
        return best["mean"] if best else np.nan

    @property
    def corrected_qd_score(self) -> float:
        """QD score of the corrected archive: each elite with its mean fitness where its mean behaviour is."""
        return self.evaluated["corrected"]["qd_score"] if self.evaluated else np.nan

    @property
    def corrected_coverage(self) -> float:
        """Share of cells that the corrected archive fills."""
        return self.evaluated["corrected"]["coverage"] if self.evaluated else np.nan

    @property
    def share_own_cell(self) -> float:
        """Share of episodes from fresh starts that end in the elite's own cell."""
        return self.evaluated["share_own_cell"] if self.evaluated else np.nan

    @property
    def best_elite(self) -> float:
        """Best fitness in the collection at the end, as stored."""
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
    def steps_to_solved(self) -> float:
        """Steps until the task was solved: see `steps_to_solved`."""
        empty = np.array([])
        steps, means = (self.evaluations.get(name, empty) for name in ("steps", "elite_mean_fitness"))
        return steps_to_solved(steps, means, self.run.spec.solved)


def read_result(run: Run, name: str) -> Result:
    """Read the logs of a run.

    Raises:
        UserError: A log is missing that the run must have written, or is damaged.
    """
    if not (run.path / "metrics.csv").exists() and not (run.path / "checkpoints").exists():
        return Result(run, name, {}, {})  # it has only just been started
    check_elites(run.path, run.ties)
    metrics, evaluations = run.metrics(), run.evaluations()
    _check(metrics, _METRICS, run.path / "metrics.csv")
    if evaluations:
        _check(evaluations, _EVALUATIONS, run.path / "evaluations.csv")
    if not len(metrics["steps"]):
        return Result(run, name, {}, {})
    if not evaluations and metrics["steps"][-1] >= run.spec.evaluate_every:
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
