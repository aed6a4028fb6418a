"""Writing figures to disk."""

from __future__ import annotations

import os
from pathlib import Path

from matplotlib.figure import Figure


def save_figure(figure: Figure, path: Path | str) -> Path:
    """Write `figure` as a PNG to `path`, whole or not at all, and return the path. Parent directories are created."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Another process may be writing the same figure, hence the process number in the name.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        figure.savefig(temporary, format="png")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
