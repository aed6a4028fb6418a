"""Writing figures to disk."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Literal

import matplotlib
from matplotlib.figure import Figure

from qdpg.runs.files import write_bytes

FigureFormat = Literal["png", "svg", "pdf"]
_UNDATED: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # the same figure is the same file


def render(figure: Figure, kind: FigureFormat) -> bytes:
    """Return `figure` as the content of a file; the same figure always gives the same."""
    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "qdpg", "pdf.fonttype": 42}):
        figure.savefig(content, format=kind, metadata=_UNDATED.get(kind))
    return content.getvalue()


def save_figure(figure: Figure, path: Path | str) -> Path:
    """Write `figure` to `path`, whole or not at all, and return the path; its ending says how: png, svg or pdf.

    Parent directories are created.
    """
    path = Path(path)
    kind: Any = path.suffix.removeprefix(".")
    write_bytes(path, render(figure, kind), shared=True)
    return path
