"""Is there room for a run? Asked before it starts, so that it does not fail after hours."""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil

from qdpg.algorithms.algorithm import Footprint
from qdpg.errors import UserError
from qdpg.runs.checkpoint import KEPT

_PROGRAM = 700 * 2**20  # bytes of libraries and compiled code


def memory_needed(footprint: Footprint) -> int:
    """Bytes that a process will take which trains an algorithm of this footprint."""
    return _PROGRAM + footprint.memory


def check_room(footprint: Footprint, directory: Path) -> None:
    """Refuse to start what will not fit.

    Raises:
        UserError: The memory that is free, or the disk, is too small.
    """
    needed, free = memory_needed(footprint), psutil.virtual_memory().available
    if needed > free:
        raise UserError(
            f"the run needs about {_gib(needed)} of memory, but only {_gib(free)} are free; "
            "choose a smaller replay_size, hidden or cells with --set."
        )
    while not directory.exists():
        directory = directory.parent
    # One checkpoint more than are kept, while it is being written, and the elites once more on their own.
    needed, free = (KEPT + 2) * footprint.checkpoint + 2 * footprint.replay, shutil.disk_usage(directory).free
    if needed > free:
        raise UserError(
            f"the checkpoints need about {_gib(needed)} on disk, but only {_gib(free)} are free in {directory}; "
            "make room or choose another --out."
        )


def _gib(number: int) -> str:
    return f"{number / 2**30:.1f} GiB"
