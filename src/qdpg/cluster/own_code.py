"""Code of the user's own, which is on no other node: it travels with the work. What is installed must be everywhere."""

from __future__ import annotations

import importlib
import sysconfig
from pathlib import Path


def find_own_file(module: str) -> Path | None:
    """The file of a module that is neither installed nor part of a package; None for all others."""
    if "." in module or module in ("__main__", "qdpg"):
        return None
    file = getattr(importlib.import_module(module), "__file__", None)
    if file is None or Path(file).name == "__init__.py":
        return None
    installed = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    return None if any(Path(file).is_relative_to(place) for place in installed) else Path(file)
