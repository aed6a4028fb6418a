"""Directories for a while: gone when they are not needed any more, also if whoever made them was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

_AGE = 10.0  # seconds
_HELD = "held"  # a file in the directory that its process holds a lock on


# A process of its own, nobody's child, since Ray kills the children of a process that ends: it waits for the lock.
_JANITOR = f"""
import fcntl, os, shutil, sys
if os.fork():
    os._exit(0)
os.setsid()
with open(sys.argv[1] + "/{_HELD}") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


class Scratch:
    """A directory in the system's temporary directory that lasts until `remove`, or until its process is dead."""

    def __init__(self, prefix: str) -> None:
        """Make one, and remove those of the same prefix whose processes were killed."""
        for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            if is_ours(path) and _is_old(path / _HELD) and (held := hold(path / _HELD)) is not None:
                shutil.rmtree(path, ignore_errors=True)
                held.close()
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._held = hold(self.path / _HELD)
        # -I and -S: nothing but Python itself is imported, so that it is small and starts at once.
        command, null = [sys.executable, "-I", "-S", "-c", _JANITOR, str(self.path)], subprocess.DEVNULL
        subprocess.run(command, stdin=null, stdout=null, stderr=null, check=False)

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._held is not None:
            self._held.close()


def _is_old(path: Path) -> bool:
    """Whether a file is there, and not just about to be locked."""
    return path.exists() and path.stat().st_mtime < time.time() - _AGE


def is_ours(directory: Path) -> bool:
    """Whether nobody else can have put it there."""
    return not directory.is_symlink() and directory.is_dir() and directory.stat().st_uid == os.getuid()


def hold(path: Path) -> IO[bytes] | None:
    """Lock a file for as long as this process lives; None if another one does."""
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
