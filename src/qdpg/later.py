"""Modules that are imported when something of them is used first: JAX alone takes a second.

Only where a command should be quick that does not need them, as in the tasks, which `qdpg tasks` and `qdpg show` read.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """Stands for a module until it is needed, and then hands out what the module has."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


def later(name: str) -> Any:
    """Return the module `name` without importing it yet.

    For type checkers, write a plain import under `if TYPE_CHECKING`, and this under `else`.
    """
    return _Later(name)
