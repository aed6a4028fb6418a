"""Train collections of diverse, high-performing neural policies.

>>> import qdpg
>>> run = qdpg.train("point-maze", "map-elites", steps=2_000, out="runs/first", population=5, initial_policies=5)
>>> len(run.elites) > 0
True

`train` returns a `Run`, `load_run` opens one; `run.elites` is a `Collection` of policies. `evaluate` says what they
are worth from fresh starts, `adapt` which of them serves a new purpose, `plot` draws, `verify` replays and `export`
writes them; `compare` trains many. `make_task`, `make_algorithm` and `make_player` are the parts, for a loop of your
own. `qdpg.callbacks` has what can be attached to a training.
"""

import importlib
from typing import TYPE_CHECKING, Any

from qdpg.registration import register_with_gymnasium
from qdpg.version import __version__

if TYPE_CHECKING:
    from qdpg import callbacks
    from qdpg.adaptation.search import Adaptation, adapt
    from qdpg.algorithms.make import make_algorithm
    from qdpg.algorithms.settings import describe_settings
    from qdpg.cluster.engine import RayEngine
    from qdpg.errors import DivergedError, UserError
    from qdpg.evaluation.evaluate import evaluate
    from qdpg.evaluation.verify import verify
    from qdpg.exports.export import export
    from qdpg.matrix.compare import compare
    from qdpg.play.player import make_player
    from qdpg.report.plot import plot
    from qdpg.runs.collection import Collection
    from qdpg.runs.policy import Policy
    from qdpg.runs.run import Run, load_run
    from qdpg.runs.training import train
    from qdpg.tasks.check import check_task
    from qdpg.tasks.registry import make_task

__all__ = [
    "Adaptation",
    "Collection",
    "DivergedError",
    "Policy",
    "RayEngine",
    "Run",
    "UserError",
    "__version__",
    "adapt",
    "callbacks",
    "check_task",
    "compare",
    "describe_settings",
    "evaluate",
    "export",
    "load_run",
    "make_algorithm",
    "make_player",
    "make_task",
    "plot",
    "train",
    "verify",
]

register_with_gymnasium()

_LAZY = {
    "Adaptation": "qdpg.adaptation.search",
    "Collection": "qdpg.runs.collection",
    "DivergedError": "qdpg.errors",
    "Policy": "qdpg.runs.policy",
    "RayEngine": "qdpg.cluster.engine",
    "Run": "qdpg.runs.run",
    "UserError": "qdpg.errors",
    "adapt": "qdpg.adaptation.search",
    "check_task": "qdpg.tasks.check",
    "compare": "qdpg.matrix.compare",
    "describe_settings": "qdpg.algorithms.settings",
    "evaluate": "qdpg.evaluation.evaluate",
    "export": "qdpg.exports.export",
    "load_run": "qdpg.runs.run",
    "make_algorithm": "qdpg.algorithms.make",
    "make_player": "qdpg.play.player",
    "make_task": "qdpg.tasks.registry",
    "plot": "qdpg.report.plot",
    "train": "qdpg.runs.training",
    "verify": "qdpg.evaluation.verify",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that `import qdpg` itself stays quick."""
    if name == "callbacks":
        return importlib.import_module("qdpg.callbacks")
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'qdpg' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
