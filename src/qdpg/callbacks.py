"""Callbacks for `qdpg.train` and `Run.resume`: those that are shipped, and what to derive your own from."""

from __future__ import annotations

from qdpg.runs.callbacks import Callback, CallbackError, EarlyStopping, Row, Training
from qdpg.runs.pruning import OptunaPruning
from qdpg.runs.tracking import MLflowTracker, WandbTracker

__all__ = [
    "Callback",
    "CallbackError",
    "EarlyStopping",
    "MLflowTracker",
    "OptunaPruning",
    "Row",
    "Training",
    "WandbTracker",
]
