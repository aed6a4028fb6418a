"""Is there room for a run? Asked before it starts, so that it does not fail after hours. And how much did it take?"""

from __future__ import annotations

import re
import resource
import shutil
import sys
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


def peak_memory() -> int:
    """Return the most bytes of memory that this process has held so far."""
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        found = None
    if found:
        return 1024 * int(found[1])
    # What every other system offers; on Linux it would count what the parent process held before it started this one.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _gib(number: int) -> str:
    return f"{number / 2**30:.1f} GiB"
