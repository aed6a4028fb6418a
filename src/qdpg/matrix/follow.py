"""`python -m qdpg.matrix.follow PARENT SCRATCH …` is `python -m qdpg …` that saves and stops when PARENT ends.

A comparison that is killed cannot tell its runs, so each of them looks for itself. SCRATCH, if not empty, is a
directory that was made for the run alone: when nobody is left to fetch what is in it, it is removed at the end.
"""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import sys
import threading
import time
from types import FrameType

from qdpg.runs.signals import leave


def follow(parent: int, every: float = 0.2) -> None:
    """Ask this process to stop as soon as `parent` is not its parent any more."""
    while os.getppid() == parent:
        time.sleep(every)
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Run the command line."""
    parent, scratch = int(sys.argv.pop(1)), sys.argv.pop(1)

    def clean_up() -> None:
        if scratch and os.getppid() != parent:
            shutil.rmtree(scratch, ignore_errors=True)

    def end(number: int, frame: FrameType | None) -> None:
        clean_up()
        leave(number)

    signal.signal(signal.SIGTERM, end)  # until there is something to save, and somebody else who sees to it
    threading.Thread(target=follow, args=(parent,), daemon=True).start()
    try:
        runpy.run_module("qdpg", run_name="__main__")
    finally:
        clean_up()


if __name__ == "__main__":
    main()
