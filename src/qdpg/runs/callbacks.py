"""What else shall happen while a run is trained: callbacks of the user's, or those of `qdpg.callbacks`.

A callback looks on; what is trained does not depend on it, except that it may end the training early.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from qdpg.errors import UserError

if TYPE_CHECKING:
    from qdpg.algorithms.algorithm import Algorithm
    from qdpg.runs.run import Run
    from qdpg.tasks.task import Task

Row = Mapping[str, Any]


class CallbackError(UserError):
    """A callback failed. The message says which one, and where.

    Attributes:
        method: The method that failed.
    """

    def __init__(self, sentence: str, method: str) -> None:
        """Say it in one sentence, and where."""
        super().__init__(sentence)
        self.method = method


class Training(Protocol):
    """A training as its callbacks see it."""

    @property
    def run(self) -> Run:
        """The run on disk."""
        ...

    @property
    def task(self) -> Task:
        """What is to be solved."""
        ...

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm with its memory: look, but do not change it."""
        ...

    @property
    def seconds(self) -> float:
        """Time spent so far, earlier trainings of the run included."""
        ...

    def stop(self, reason: str) -> None:
        """End the training after the present generation; it is saved, and can be resumed."""
        ...


class Callback:
    """Derive from it, and write the methods that you need.

    Examples:
        >>> from qdpg.callbacks import Callback
        >>> class StopAtTenElites(Callback):
        ...     def on_generation(self, training, row):
        ...         if row["cells"] >= 10:
        ...             training.stop("ten elites are enough")
    """

    def on_start(self, training: Training) -> None:
        """The training begins, or goes on."""

    def on_generation(self, training: Training, row: Row) -> None:
        """A generation was played and learned from; `row` is what metrics.csv got."""

    def on_evaluation(self, training: Training, row: Row) -> None:
        """The population was evaluated without noise; `row` is what evaluations.csv got."""

    def on_checkpoint(self, training: Training, path: Path) -> None:
        """A checkpoint was written."""

    def on_end(self, training: Training, error: BaseException | None) -> None:
        """The training has ended and was saved; `error` is what ended it, if it was not meant to end."""


def check_callbacks(callbacks: Sequence[Callback]) -> tuple[Callback, ...]:
    """Refuse what is no list of callbacks.

    Raises:
        UserError: It is none, or something in it is not a `Callback`.
    """
    if not isinstance(callbacks, Sequence):
        raise UserError(f"callbacks must be a list of callbacks, not {callbacks!r:.80}.")
    for each in callbacks:
        if not isinstance(each, Callback):
            raise UserError(f"{each!r} is not a callback; derive its class from qdpg.callbacks.Callback.")
    return tuple(callbacks)


def call_all(callbacks: Sequence[Callback], method: str, *arguments: Any) -> None:
    """Call a method of every callback.

    Raises:
        CallbackError: One failed; the others after it are not called.
    """
    for each in callbacks:
        try:
            getattr(each, method)(*arguments)
        except Exception as error:
            name = type(each).__qualname__
            sentence = f"callback {name} failed in {method}: {type(error).__name__}: {error}"
            raise CallbackError(sentence, method) from error


def read_number(row: Row, metric: str, table: str) -> float:
    """A number of a row; not-a-number where it is not known.

    Raises:
        UserError: There is no such column.
    """
    if metric not in row:
        raise UserError(f"{table} have no {metric!r}; they have: {', '.join(row)}.")
    return np.nan if row[metric] == "" else float(row[metric])


class EarlyStopping(Callback):
    """Ends a training when a number has not grown for a while.

    What the run recorded before counts too, so that it ends at the same step whether it was interrupted or not.

    Examples:
        >>> from qdpg.callbacks import EarlyStopping
        >>> callback = EarlyStopping("qd_score", patience=50_000)
    """

    def __init__(
        self,
        metric: str = "qd_score",
        patience: int = 100_000,
        least: float = 0.0,
        of: Literal["metrics", "evaluations"] = "metrics",
    ) -> None:
        """Watch a number.

        Args:
            metric: A column of metrics.csv or of evaluations.csv.
            patience: Environment steps without growth after which the training ends.
            least: Growth that counts must be more than this.
            of: Which table has the column.
        """
        self.metric, self.patience, self.least, self.of = metric, patience, least, of
        self._best, self._since = -np.inf, 0

    def on_start(self, training: Training) -> None:
        """Take into account what was recorded before."""
        self._best, self._since, reason = -np.inf, 0, ""
        if training.algorithm.generation:
            table = training.run.metrics() if self.of == "metrics" else training.run.evaluations()
            for values in zip(*table.values(), strict=True):
                reason = self._count(dict(zip(table, values, strict=True)))
        if reason:
            training.stop(reason)

    def on_generation(self, training: Training, row: Row) -> None:
        """Look at a row of metrics."""
        if self.of == "metrics" and (reason := self._count(row)):
            training.stop(reason)

    def on_evaluation(self, training: Training, row: Row) -> None:
        """Look at a row of evaluations."""
        if self.of == "evaluations" and (reason := self._count(row)):
            training.stop(reason)

    def _count(self, row: Row) -> str:
        """Take a row into account; return why it is time to end, if it is."""
        steps, value = int(row["steps"]), read_number(row, self.metric, self.of)
        if value > self._best + self.least:  # what is not known is not more
            self._best, self._since = value, steps
        waited = steps - self._since
        return f"{self.metric} has not grown for {waited:,} steps" if waited >= self.patience else ""
