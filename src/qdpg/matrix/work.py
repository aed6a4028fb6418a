"""Work through a matrix of runs: as many at once as fit, each in a process of its own."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import psutil

from qdpg.errors import UserError
from qdpg.matrix.child import Child, Cores
from qdpg.matrix.matrix import PlannedRun
from qdpg.matrix.overview import Overview
from qdpg.matrix.progress import Totals, is_finished, read_progress, seconds_left
from qdpg.matrix.record import Failures
from qdpg.report.words import number
from qdpg.runs.files import lock_directory, remove_leftovers
from qdpg.runs.room import check_room, memory_needed
from qdpg.runs.run import create_run

_POLL = 0.2  # seconds between two looks at the processes
_PATIENCE = 60.0  # seconds to wait for a run that a process of a killed comparison is still saving
# Exit codes of a run that was asked to stop: after saving, or before it could.
_STOPPED = (*(128 + n for n in (signal.SIGINT, signal.SIGTERM)), -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL)


class Work:
    """Runs that wait, runs in progress, and what came of the others."""

    def __init__(
        self,
        planned: list[PlannedRun],
        todo: list[PlannedRun],
        shares: list[Cores],
        failures: Failures,
        overview: Overview,
        options: Sequence[str],
    ) -> None:
        """Make ready.

        Args:
            planned: All runs of the matrix.
            todo: Those that are not finished, in the order in which they shall be trained.
            shares: The cores of each of the runs that are trained at once.
            failures: The record of failed runs.
            overview: Where it is shown how far they are.
            options: Of `qdpg resume`, for every run.
        """
        self.failures, self._overview, self._options = failures, overview, options
        self._planned, self._waiting, self._free, self._jobs = planned, list(todo), list(shares), len(shares)
        self._children: list[Child] = []
        self._failed: set[PlannedRun] = set()
        self._progress = {run: read_progress(run) for run in planned}
        self._received: list[int] = []  # signals
        self._handed_on = 0  # how many of them the runs have got
        self._patience = time.monotonic() + _PATIENCE
        for run in set(planned) - set(todo):  # perhaps finished by hand
            failures.remove(run)

    @property
    def stopped(self) -> int | None:
        """The signal that stopped it all, if one did."""
        return self._received[0] if self._received else None

    def stop(self, received: int) -> None:
        """Hand a signal to all runs: asked once they save and stop, asked twice they stop, then they are killed."""
        self._received.append(received)  # handed on from the loop, which may be starting a run at this very moment

    def go_through(self) -> None:
        """Work until nothing waits and nothing runs, or until a signal has stopped it all."""
        try:
            while self._children or (self._waiting and self.stopped is None):
                while self.stopped is None and self._start_one():
                    pass
                self._hand_on_signals()
                time.sleep(_POLL)
                for child in list(self._children):
                    if (code := child.poll()) is not None:
                        self._end(child, code)
                self._show()
        finally:  # an error of our own must not leave runs behind
            for child in self._children:
                child.send(signal.SIGTERM)
            for child in self._children:
                child.wait()

    def _hand_on_signals(self) -> None:
        while self._handed_on < len(self._received):
            received = self._received[self._handed_on] if self._handed_on < 2 else signal.SIGKILL
            self._handed_on += 1
            for child in self._children:
                child.send(received)

    def _start_one(self) -> bool:
        """Start the first waiting run that fits; whether there was one (or one that cannot be started at all)."""
        if not self._free or not self._waiting:
            return False
        spare = psutil.virtual_memory().available - sum(child.memory_to_come() for child in self._children)
        for run in self._waiting:
            if self._children and memory_needed(run.footprint) > spare:
                continue
            try:
                _prepare(run)
            except _BusyError as error:
                if self._children or time.monotonic() < self._patience:
                    continue
                self._fail(run, str(error), None)
            except (UserError, OSError) as error:
                self._fail(run, str(error), None)
            else:
                self._children.append(Child(run, self._free.pop(0), self._options))
                self._overview.say(f"started {run.name}")
            self._waiting.remove(run)
            return True
        return False

    def _end(self, child: Child, code: int) -> None:
        """Find out what became of a run whose process has ended."""
        run, seen = child.run, read_progress(child.run)
        self._children.remove(child)
        self._free.append(child.cores)
        self._progress[run] = seen
        if code == 0 and is_finished(run):
            self.failures.remove(run)
            took, best = f"{number(seen.seconds)} s", number(seen.best_fitness)
            self._overview.say(f"finished {run.name}: {seen.steps:,} steps in {took}, best fitness {best}")
        elif self.stopped is not None and code in _STOPPED:
            self._waiting.append(run)
            self._overview.say(f"stopped {run.name} at {seen.steps:,} steps")
        else:
            self._fail(run, child.error(code), code)

    def _fail(self, run: PlannedRun, error: str, code: int | None) -> None:
        self._failed.add(run)
        self.failures.add(run, error, code)
        self._overview.say(f"failed {run.name}: {error}")

    def _show(self) -> None:
        running = [child.run for child in self._children]
        self._progress |= {run: read_progress(run) for run in running}
        undone = {*self._waiting, *running, *self._failed}
        totals = Totals(
            runs=len(self._planned),
            finished=len(self._planned) - len(undone),
            failed=len(self._failed),
            steps=sum(min(self._progress[run].steps, run.config.steps) for run in self._planned),
            total_steps=sum(run.config.steps for run in self._planned),
            seconds_left=seconds_left(self._waiting, running, self._progress, self._jobs),
        )
        self._overview.update({run: self._progress[run] for run in running}, totals)


class _BusyError(Exception):
    """Another process is still at a run."""


def _prepare(run: PlannedRun) -> None:
    """Make the directory of a run that was never begun.

    Raises:
        _BusyError: Another process trains it.
        UserError: There is no room for it, or something else is in its place.
    """
    check_room(run.footprint, run.path.absolute())
    if (run.path / "config.json").exists():
        try:
            lock_directory(run.path, f"another process is training {run.path}; stop it and try again.").close()
        except UserError as error:
            raise _BusyError(str(error)) from None
        return
    if run.path.is_dir():  # a comparison that was killed may have left it half made
        remove_leftovers(run.path)
        (run.path / "manifest.json").unlink(missing_ok=True)
    create_run(run.path, run.config)


@contextmanager
def signals_to(stop: Callable[[int], None]) -> Iterator[None]:
    """Call `stop` with every SIGINT and SIGTERM. Only the main thread can receive them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(received: int, frame: FrameType | None) -> None:
        stop(received)

    previous = {each: signal.signal(each, handle) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)
