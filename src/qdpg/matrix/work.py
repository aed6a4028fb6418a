"""Work through a matrix of runs: as many at once as fit, each in a process of its own."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any

from qdpg.errors import UserError
from qdpg.matrix.child import Crew
from qdpg.matrix.matrix import PlannedRun
from qdpg.matrix.overview import Overview
from qdpg.matrix.progress import Totals, is_finished, read_progress, seconds_left
from qdpg.matrix.record import Failures
from qdpg.report.words import number
from qdpg.runs.files import lock_directory
from qdpg.runs.run import create_run, load_run
from qdpg.runs.signals import STOPPING

if TYPE_CHECKING:
    from qdpg.matrix.remote import RayCrew

_POLL = 0.2  # seconds between two looks at the processes
_PATIENCE = 60.0  # seconds to wait for a run that a process of a killed comparison is still saving
# Exit codes of a run that was asked to stop: after saving, or before it could.
_STOPPED = (*(128 + n for n in STOPPING), *(-n for n in STOPPING), -signal.SIGKILL)


class Work:
    """Runs that wait, runs in progress, and what came of the others."""

    def __init__(
        self,
        planned: list[PlannedRun],
        todo: list[PlannedRun],
        crew: Crew | RayCrew,
        failures: Failures,
        overview: Overview,
    ) -> None:
        """Make ready.

        Args:
            planned: All runs of the matrix.
            todo: Those that are not finished, in the order in which they shall be trained.
            crew: Who starts runs.
            failures: The record of failed runs.
            overview: Where it is shown how far they are.
        """
        self.failures, self._overview, self._crew = failures, overview, crew
        self._planned, self._waiting = planned, list(todo)
        self._children: list[Any] = []  # of the crew
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
        for run in self._waiting:
            if not self._crew.has_room(run, self._children):
                continue
            try:
                self._crew.check(run)
                _prepare(run)
            except _BusyError as error:
                if self._children or time.monotonic() < self._patience:
                    continue
                self._fail(run, str(error), None)
            except (UserError, OSError) as error:
                self._fail(run, str(error), None)
            else:
                self._children.append(child := self._crew.start(run))
                if child.place is not None:  # otherwise it will say so itself
                    self._overview.say(f"started {run.name}")
            self._waiting.remove(run)
            return True
        return False

    def _end(self, child: Any, code: int) -> None:
        """Find out what became of a run whose process has ended."""
        run, seen = child.run, read_progress(child.run)
        self._pass_on(child)
        self._children.remove(child)
        self._crew.end(child)
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

    def _pass_on(self, child: Any) -> None:
        """Say what a run has to say."""
        while child.remarks:
            self._overview.say(child.remarks.pop(0))

    def _fail(self, run: PlannedRun, error: str, code: int | None) -> None:
        self._failed.add(run)
        self.failures.add(run, error, code)
        self._overview.say(f"failed {run.name}: {error}")

    def _show(self) -> None:
        running = [child.run for child in self._children if child.place is not None]
        for child in self._children:
            self._pass_on(child)
        self._progress |= {run: read_progress(run) for run in running}
        waiting = [*self._waiting, *(child.run for child in self._children if child.place is None)]
        undone = {*waiting, *running, *self._failed}
        totals = Totals(
            runs=len(self._planned),
            finished=len(self._planned) - len(undone),
            failed=len(self._failed),
            steps=sum(min(self._progress[run].steps, run.config.steps) for run in self._planned),
            total_steps=sum(run.config.steps for run in self._planned),
            seconds_left=seconds_left(waiting, running, self._progress, self._crew.jobs),
        )
        places = {child.run: child.place for child in self._children}
        self._overview.update({run: self._progress[run] for run in running}, totals, places)


class _BusyError(Exception):
    """Another process is still at a run."""


def _prepare(run: PlannedRun) -> None:
    """Make the directory of a run that was never begun.

    Raises:
        _BusyError: Another process trains it.
        UserError: Something else is in its place.
    """
    if (run.path / "config.json").exists():
        try:
            lock_directory(run.path, f"another process is training {run.path}; stop it and try again.").close()
        except UserError as error:
            raise _BusyError(str(error)) from None
        found = load_run(run.path).config
        if any(found[name] != getattr(run.config, name) for name in ("task", "algorithm", "seed")):
            raise UserError(f"{run.path} holds another run; move it away.")
        return
    create_run(run.path, run.config)
