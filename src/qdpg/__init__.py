"""Train collections of diverse, high-performing neural policies."""

import importlib
from typing import TYPE_CHECKING, Any

from qdpg.registration import register
from qdpg.version import __version__

if TYPE_CHECKING:
    from qdpg.adaptation.search import Adaptation, adapt
    from qdpg.evaluation.evaluate import evaluate
    from qdpg.matrix.compare import compare
    from qdpg.runs.run import load_run
    from qdpg.tasks.registry import make_task

__all__ = ["Adaptation", "__version__", "adapt", "compare", "evaluate", "load_run", "make_task"]

register()  # `import qdpg` makes the tasks known to Gymnasium


_LAZY = {
    "Adaptation": "qdpg.adaptation.search",
    "adapt": "qdpg.adaptation.search",
    "compare": "qdpg.matrix.compare",
    "evaluate": "qdpg.evaluation.evaluate",
    "load_run": "qdpg.runs.run",
    "make_task": "qdpg.tasks.registry",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that `import qdpg` itself stays quick."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'qdpg' has no attribute {name!r}")
