"""Train collections of diverse, high-performing neural policies."""

from typing import TYPE_CHECKING, Any

from qdpg.registration import register
from qdpg.version import __version__

if TYPE_CHECKING:
    from qdpg.matrix.compare import compare
    from qdpg.runs.run import load_run
    from qdpg.tasks.registry import make_task

__all__ = ["__version__", "compare", "load_run", "make_task"]

register()  # `import qdpg` makes the tasks known to Gymnasium


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that `import qdpg` itself stays quick."""
    if name == "compare":
        from qdpg.matrix.compare import compare

        return compare
    if name == "load_run":
        from qdpg.runs.run import load_run

        return load_run
    if name == "make_task":
        from qdpg.tasks.registry import make_task

        return make_task
    raise AttributeError(f"module 'qdpg' has no attribute {name!r}")
