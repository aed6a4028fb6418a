"""Weights & Biases and MLflow as callbacks. They come with the extra `track`: `pip install qdpg[track]`.

A run that is resumed goes on in the same place: its directory remembers which, in tracked.json.
"""

from __future__ import annotations

import importlib
import math
import time
from types import ModuleType
from typing import Any

import numpy as np

from qdpg.errors import UserError
from qdpg.options import flatten_options
from qdpg.runs.callbacks import Callback, Row, Training
from qdpg.runs.files import read_json, write_json


def finite_numbers(prefix: str, row: Row) -> dict[str, float]:
    """The numbers of a row, by name with a prefix, as trackers take them."""
    plain = (int, float, np.integer, np.floating)
    return {
        f"{prefix}/{name}": float(value)
        for name, value in row.items()
        if isinstance(value, plain) and math.isfinite(value)
    }


class _Tracker(Callback):
    """What trackers share: each row is sent with the environment steps so far."""

    service: str  # under which tracked.json remembers the place

    def on_generation(self, training: Training, row: Row) -> None:
        """Send a row of metrics."""
        self._send(finite_numbers("train", row), int(row["steps"]))

    def on_evaluation(self, training: Training, row: Row) -> None:
        """Send a row of evaluations."""
        self._send(finite_numbers("evaluation", row), int(row["steps"]))

    def _send(self, numbers: dict[str, float], steps: int) -> None:
        raise NotImplementedError

    def _remembered(self, training: Training) -> str | None:
        """Where an earlier training of the same run was tracked."""
        path = training.run.path / "tracked.json"
        found = read_json(path).get(self.service) if path.exists() else None
        return None if found is None else str(found)

    def _remember(self, training: Training, place: str) -> None:
        path = training.run.path / "tracked.json"
        before = read_json(path) if path.exists() else {}
        write_json(path, before | {self.service: place})


class WandbTracker(_Tracker):
    """Sends metrics to Weights & Biases, or with `mode="offline"` to files that `wandb sync` sends later.

    Examples:
        >>> from qdpg.callbacks import WandbTracker
        >>> callback = WandbTracker(project="mazes", mode="offline")
    """

    service = "wandb"

    def __init__(self, **init: Any) -> None:
        """Remember how to begin.

        Args:
            **init: Arguments of `wandb.init`, such as project, entity, tags, mode and dir. Its files cannot be inside
                the run, which holds no links.
        """
        self._init = init
        self._run: Any = None

    def on_start(self, training: Training) -> None:
        """Begin, or go on."""
        wandb = _import("wandb")
        run = training.run
        given = {"name": run.path.name, "config": run.config, "id": self._remembered(training)}
        self._run = wandb.init(**{**given, "resume": "allow", **self._init})
        self._run.define_metric("steps")
        self._run.define_metric("*", step_metric="steps")
        self._remember(training, self._run.id)

    def _send(self, numbers: dict[str, float], steps: int) -> None:
        self._run.log({"steps": steps, **numbers})

    def on_end(self, training: Training, error: BaseException | None) -> None:
        """Finish."""
        if self._run is not None:
            self._run.finish(exit_code=0 if error is None else 1)


class MLflowTracker(_Tracker):
    """Sends metrics to MLflow: to a server, or without one into a database in a file, for `mlflow server` to show.

    Examples:
        >>> from qdpg.callbacks import MLflowTracker
        >>> callback = MLflowTracker(experiment="mazes", tracking_uri="sqlite:///mlflow.db")
    """

    service = "mlflow"

    def __init__(self, experiment: str = "qdpg", tracking_uri: str | None = None) -> None:
        """Remember where to.

        Args:
            experiment: Name of the experiment; it is made if it is not there.
            tracking_uri: Where MLflow is, such as "http://127.0.0.1:5000" or "sqlite:///mlflow.db"; by default what
                MLFLOW_TRACKING_URI says, or else MLflow's own choice.
        """
        self.experiment, self.tracking_uri = experiment, tracking_uri
        self._client: Any = None
        self._id = ""

    def on_start(self, training: Training) -> None:
        """Begin, or go on."""
        mlflow, run = _import("mlflow"), training.run
        self._client = mlflow.MlflowClient(self.tracking_uri)
        found = self._client.get_experiment_by_name(self.experiment)
        experiment = found.experiment_id if found else self._client.create_experiment(self.experiment)
        remembered = self._remembered(training)
        if remembered:
            self._id = remembered
            self._client.update_run(self._id, "RUNNING")
            return
        self._id = self._client.create_run(experiment, run_name=run.path.name).info.run_id
        for name, value in flatten_options(run.config).items():
            self._client.log_param(self._id, name, value)
        self._remember(training, self._id)

    def _send(self, numbers: dict[str, float], steps: int) -> None:
        metric = _import("mlflow.entities").Metric
        now = int(1000 * time.time())
        self._client.log_batch(self._id, [metric(name, value, now, steps) for name, value in numbers.items()])

    def on_end(self, training: Training, error: BaseException | None) -> None:
        """Finish."""
        if self._client is not None and self._id:
            self._client.set_terminated(self._id, "FINISHED" if error is None else "FAILED")


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UserError(f"{name} is not installed; install it with `pip install qdpg[track]`.") from error
