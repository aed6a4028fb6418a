"""Being asked to stop: Ctrl-C, `kill`, a closed terminal."""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHOW_CURSOR = "\x1b[?25h"


def leave(number: int, frame: FrameType | None = None) -> None:
    """End the process at once. Nothing is lost: all that is written is written whole, as if it had been killed.

    An exception would not do: a library that is being imported or that calls us back may swallow it.
    """
    try:
        text = "\nqdpg: interrupted\n"
        os.write(2, (text + _SHOW_CURSOR if sys.stderr.isatty() else text.lstrip()).encode())
    finally:
        os._exit(128 + number)


@contextmanager
def signals_to(stop: Callable[[int], None], numbers: Sequence[signal.Signals] = STOPPING) -> Iterator[None]:
    """Call `stop` with the number of every signal that asks to stop. Only the main thread can receive them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(received: int, frame: FrameType | None) -> None:
        if received == signal.SIGHUP:
            _forget_closed_terminal()
        stop(received)

    # Whoever started us with `nohup` wants us to go on when the terminal closes.
    wanted = [n for n in numbers if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN]
    previous = {number: signal.signal(number, handle) for number in wanted}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _forget_closed_terminal() -> None:
    """Say no more to a terminal that is gone: each word would be an error, and keep us from ending well."""
    for output in (1, 2):
        # Once it is gone it is no terminal any more, but still a device.
        if stat.S_ISCHR(os.fstat(output).st_mode) and not os.isatty(output):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, output)
            os.close(nowhere)


@contextmanager
def stop_soon() -> Iterator[list[int]]:
    """Collect the signals that ask to stop; who asks twice does not wait for what is being saved."""
    received: list[int] = []

    def stop(number: int) -> None:
        if received:
            leave(number)
        received.append(number)

    with signals_to(stop):
        yield received


@contextmanager
def interrupt_later() -> Iterator[list[int]]:
    """Collect Ctrl-C, for a library: it interrupts after what is inside, or at once when pressed again."""
    received: list[int] = []

    def stop(number: int) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    with signals_to(stop, [signal.SIGINT]):
        yield received
    if received:
        raise KeyboardInterrupt
