"""How many threads linear algebra takes: sums over several threads are added in another order, so last bits differ."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager:
    """Within it, NumPy and SciPy compute products and solutions on one thread: the same bits on any number of cores."""
    return _controller().limit(limits=1)


@functools.cache
def _controller() -> ThreadpoolController:
    """Made once: looking through all loaded libraries takes longer than most of what is computed."""
    return ThreadpoolController()
