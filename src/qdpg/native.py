"""How many threads linear algebra takes: sums over several threads are added in another order, so last bits differ."""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

_TURN = threading.RLock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it, NumPy and SciPy compute products and solutions on one thread: the same bits on any number of cores.

    The number belongs to the whole process, and emitters work side by side. So they take turns: who left first would
    otherwise restore it for the others too.
    """
    with _TURN, _controller().limit(limits=1):
        yield


@functools.cache
def _controller() -> ThreadpoolController:
    """Made once: looking through all loaded libraries takes longer than most of what is computed.

    It knows only what is loaded by then, and SciPy brings a linear algebra of its own.
    """
    importlib.import_module("scipy.linalg")
    return ThreadpoolController()
