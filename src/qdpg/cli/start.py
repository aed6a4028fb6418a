"""Where the program begins, before anything is imported: Ctrl-C ends it, and limits of memory are looked at.

Importing libraries takes a second, and some of them swallow the exception that Python would raise. With too little
memory some wait for ever for threads that could not be started, or end the process without a word.
"""

from __future__ import annotations

import os
import resource
import signal
import sys

from qdpg.runs.signals import leave

_LOOKING = ("algorithms", "completion", "settings", "show", "tasks")  # commands that train nothing and play nothing
_LEAST_TO_LOOK = 2**29  # bytes of addresses
_LEAST = 3 * 2**30
_PER_CORE = 2**27  # threads have stacks, and memory to allocate from


def main() -> None:
    """Run the command line and exit."""
    signal.signal(signal.SIGINT, leave)
    if problem := find_limit(sys.argv[1:]):
        print(f"qdpg: {problem}", file=sys.stderr)
        sys.exit(2)
    from qdpg.cli.main import main as run

    run()


def find_limit(words: list[str]) -> str | None:
    """Say whether this process may use too little memory for a command, in a sentence."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    allowed = min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)
    is_looking = any(word in _LOOKING for word in words[:1])
    needed = _LEAST_TO_LOOK if is_looking else _LEAST + _PER_CORE * (os.cpu_count() or 1)
    if allowed is None or allowed >= needed:
        return None
    return (
        f"this process may use {allowed / 2**30:.1f} GiB of addresses, but needs about {needed / 2**30:.1f} GiB; "
        "raise the limit (ulimit -v and -d)."
    )
