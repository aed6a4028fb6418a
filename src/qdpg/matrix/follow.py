"""`python -m qdpg.matrix.follow PARENT …` is `python -m qdpg …` that saves and stops when the process PARENT ends.

A comparison that is killed cannot tell its runs, so each of them looks for itself.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time


def follow(parent: int, every: float = 0.2) -> None:
    """Ask this process to stop as soon as `parent` is not its parent any more."""
    while os.getppid() == parent:
        time.sleep(every)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=follow, args=(int(sys.argv.pop(1)),), daemon=True).start()
    runpy.run_module("qdpg", run_name="__main__")
