"""Trials of a hyper-parameter search that are given up early, by Optuna."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qdpg.runs.callbacks import Callback, Row, Training, read_number

if TYPE_CHECKING:
    import optuna


class OptunaPruning(Callback):
    """Tells Optuna how a trial goes, and ends the training if Optuna gives it up.

    Call `check()` after the training: it raises `optuna.TrialPruned` if the trial was given up.

    Examples:
        >>> from qdpg.callbacks import OptunaPruning
        >>> def objective(trial):
        ...     pruning = OptunaPruning(trial, "qd_score", every=10_000)
        ...     sigma = trial.suggest_float("iso_sigma", 0.003, 0.3, log=True)
        ...     out = f"study/{trial.number}"
        ...     run = qdpg.train("point-maze", "map-elites", out=out, callbacks=[pruning], iso_sigma=sigma)
        ...     pruning.check()
        ...     return run.metrics()["qd_score"][-1]
    """

    def __init__(self, trial: optuna.Trial, metric: str = "qd_score", every: int = 10_000) -> None:
        """Watch a number of a trial.

        Args:
            trial: The trial.
            metric: A column of metrics.csv.
            every: Environment steps between two reports; the same for all trials of a study, so that Optuna can compare
                them.
        """
        self.trial, self.metric, self.every = trial, metric, every
        self.is_pruned = False
        self._reported = 0

    def on_generation(self, training: Training, row: Row) -> None:
        """Report, if it is time."""
        reports, value = int(row["steps"]) // self.every, read_number(row, self.metric, "metrics")
        if reports == self._reported:
            return
        self._reported = reports
        self.trial.report(value, reports * self.every)
        if self.trial.should_prune():
            self.is_pruned = True
            training.stop("Optuna gave the trial up")

    def check(self) -> None:
        """Say to Optuna that the trial was given up, if so.

        Raises:
            TrialPruned: It was.
        """
        if self.is_pruned:
            import optuna

            raise optuna.TrialPruned
