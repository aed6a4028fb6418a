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
_RESERVED = 2**30  # bytes of addresses that threads and libraries take beyond that
_LOGS = 2**20  # bytes of logs and figures, at least


def memory_needed(footprint: Footprint) -> int:
    """Bytes that a process will take which trains an algorithm of this footprint."""
    return _PROGRAM + footprint.memory


def check_room(footprint: Footprint, directory: Path) -> None:
    """Refuse to start what will not fit.

    Raises:
        UserError: The memory that is free, or the disk, is too small.
    """
    needed, free = memory_needed(footprint), free_memory()
    if needed > free:
        raise UserError(
            f"the run needs about {_size(needed)} of memory, but only {_size(free)} are free; "
            "choose a smaller replay_size, hidden or cells with --set."
        )
    check_disk(footprint, directory)


def check_disk(footprint: Footprint, directory: Path) -> None:
    """Refuse what will not fit on the disk.

    Raises:
        UserError: It is too small.
    """
    while not directory.exists():
        directory = directory.parent
    # One checkpoint more than are kept, while it is being written, and the elites once more on their own. What a run
    # that goes on has written already need not be written again.
    held = sum(path.stat().st_size for path in (directory / "checkpoints").rglob("*.safetensors") if path.is_file())
    needed = max((KEPT + 2) * footprint.checkpoint + 2 * footprint.replay - held, footprint.checkpoint) + _LOGS
    free = shutil.disk_usage(directory).free
    if needed > free:
        raise UserError(
            f"the checkpoints need about {_size(needed)} on disk, but only {_size(free)} are free in {directory}; "
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


def free_memory() -> int:
    """Bytes of memory that this process may still take: what the machine has, or what it is limited to."""
    free: int = psutil.virtual_memory().available
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            # Libraries reserve addresses, for threads above all, that they do not use.
            free = min(free, limit - psutil.Process().memory_info().vms - _RESERVED)
    return free


def _size(number: int) -> str:
    """Bytes in a unit that fits."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if abs(number) >= size:
            return f"{number / size:.1f} {unit}"
    return f"{max(number, 0) / 2**10:.1f} KiB"
