"""A run in a process of its own, on cores of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from qdpg.errors import UserError
from qdpg.matrix.matrix import PlannedRun
from qdpg.matrix.overview import HERE
from qdpg.report.words import plural
from qdpg.runs.files import open_file, read_bytes
from qdpg.runs.room import check_room, memory_needed
from qdpg.terminal import printable

Cores = tuple[int, ...]
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def share_cores(cores: Sequence[int], runs: int, jobs: int | None, threads: int | None) -> list[Cores]:
    """Say on which cores each of the runs that are trained at the same time may work.

    Shares are disjoint: two runs that share both of two cores take about twice as long as two that have one each.
    Only if more is asked for than there are cores, they are dealt out several times.

    Args:
        cores: What there is.
        runs: How many runs there are to train.
        jobs: How many of them at once; by default as many as there are cores for.
        threads: Cores for each; by default an equal share.

    Raises:
        UserError: A number is out of range.
    """
    number = len(cores)
    if jobs is not None and jobs < 1:
        raise UserError(f"--jobs is {jobs}, but must be at least 1.")
    if threads is not None and not 1 <= threads <= number:
        raise UserError(f"--threads is {threads}, but must be from 1 to the number of usable cores, {number}.")
    jobs = min(jobs or number // (threads or 1), max(runs, 1))
    if threads is None and jobs <= number:
        return [tuple(cores[job::jobs]) for job in range(jobs)]
    width = threads or 1
    return [tuple(cores[(job * width + n) % number] for n in range(width)) for job in range(jobs)]


class Child:
    """The process that trains one run. Its output goes to the run's log."""

    place: str | None = HERE  # where it runs
    remarks: Sequence[str] = ()  # what a person should know about that

    def __init__(self, run: PlannedRun, cores: Cores, options: Sequence[str], directory: Path | None = None) -> None:
        """Start it; the run's directory must be there.

        Args:
            run: The run.
            cores: Where it may work.
            options: Of `qdpg resume`.
            directory: Where the process works, and finds the user's own code; removed if we are gone when it ends.
        """
        self.run, self.cores = run, cores
        # -P: what lies in the directory that somebody works in is not imported.
        command = [sys.executable, "-P", "-m", "qdpg.matrix.follow", str(os.getpid()), str(directory or "")]
        command += ["resume", str(run.path), "--steps", str(run.config.steps), *options]
        environment = os.environ | dict.fromkeys(_THREADS, str(len(cores)))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with os.fdopen(open_file(run.log, flags), "ab") as log, _on_cores(cores):
            self._log_start = log.tell()
            # A group of its own: Ctrl-C reaches it once, from us, and not a second time from the terminal.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                process_group=0,
                cwd=directory,
            )

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        return self._process.poll()

    def wait(self) -> int:
        """Wait for its end; return its exit code."""
        return self._process.wait()

    def send(self, number: int) -> None:
        """Hand on a signal."""
        self._process.send_signal(number)

    def memory_to_come(self) -> int:
        """Bytes that it will still take."""
        try:
            held: int = psutil.Process(self._process.pid).memory_info().rss
        except psutil.Error:  # it has just ended
            return 0
        return max(memory_needed(self.run.footprint) - held, 0)

    def error(self, code: int) -> str:
        """Say why it ended with `code`, from what it printed last."""
        if number := -code if code < 0 else max(code - 128, 0):
            hint = ", perhaps because memory ran out" if number == signal.SIGKILL else ""
            return f"the process was ended by {signal.Signals(number).name}{hint}."
        text = read_bytes(self.run.log)[self._log_start :].decode(errors="replace")
        return printable(find_error(text) or "") or f"the process ended with exit code {code} and said nothing."


class Crew:
    """Starts runs on this machine, each on cores of its own."""

    def __init__(self, shares: Sequence[Cores], options: Sequence[str]) -> None:
        """Make ready.

        Args:
            shares: The cores of each of the runs that are trained at once.
            options: Of `qdpg resume`, for every run.
        """
        self._free, self._options = list(shares), options
        self.jobs, self._cores = len(shares), len(shares[-1])

    def describe(self) -> str:
        """What is about to happen."""
        return f"{self.jobs} at once with {plural(self._cores, 'core')} each"

    def check(self, run: PlannedRun) -> None:
        """Refuse what will not fit.

        Raises:
            UserError: The memory that is free, or the disk, is too small.
        """
        check_room(run.footprint, run.path.absolute())

    def has_room(self, run: PlannedRun, children: Sequence[Child]) -> bool:
        """Whether a run can start beside those in progress; alone it may always try."""
        if not self._free:
            return False
        to_come = sum(child.memory_to_come() for child in children)
        return not children or memory_needed(run.footprint) <= psutil.virtual_memory().available - to_come

    def start(self, run: PlannedRun) -> Child:
        """Start it."""
        return Child(run, self._free.pop(0), self._options)

    def end(self, child: Child) -> None:
        """Take its cores back."""
        self._free.append(child.cores)


def find_error(text: str) -> str | None:
    """Find the sentence that says what went wrong in what a process printed; None if it printed nothing."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if sentences := [line.removeprefix("qdpg: ") for line in lines if line.startswith("qdpg: ")]:
        return sentences[-1]
    traces = [n for n, line in enumerate(lines) if line.startswith("Traceback ")]
    if traces:  # the error itself is the first line that is not indented; libraries may add remarks after it
        lines = [line for line in lines[traces[-1] + 1 :] if not line.startswith(" ")][:1]
    return lines[-1] if lines else None


@contextmanager
def _on_cores(cores: Cores) -> Iterator[None]:
    """Work on `cores` only. A process begun inside does so from its first moment; threads cannot escape."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
