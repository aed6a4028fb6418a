"""How a comparison looks: a line per run in progress and the totals; plain lines when nobody watches live."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType

from rich import progress as rich_progress

from qdpg.matrix.matrix import PlannedRun
from qdpg.matrix.progress import Progress, Totals
from qdpg.report.words import number, plural
from qdpg.terminal import make_console

_PLAIN_EVERY = 60.0  # seconds between plain reports
_LIVE_EVERY = 1.0
HERE = "here"  # on this machine


class Overview:
    """Shows how a comparison goes."""

    def __init__(self, quiet: bool = False) -> None:
        self._console = make_console(quiet=quiet)
        self._bars: rich_progress.Progress | None = None
        if not quiet and sys.stdout.isatty():
            columns = (
                rich_progress.TextColumn("{task.description}", style="bold", markup=False),
                rich_progress.BarColumn(bar_width=24),
                rich_progress.TaskProgressColumn(),
                rich_progress.TextColumn("{task.fields[text]}", markup=False),
            )
            self._bars = rich_progress.Progress(*columns, console=self._console, transient=True)
            self._total = self._bars.add_task("all runs", text="")
        self._shown: dict[PlannedRun, rich_progress.TaskID] = {}
        self._began: dict[PlannedRun, Progress] = {}  # where each run was when it was first seen
        self._due = time.monotonic() + (0 if self._bars is not None else _PLAIN_EVERY)

    def __enter__(self) -> Overview:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def say(self, sentence: str) -> None:
        """Show a sentence that stays."""
        self._console.print(sentence, soft_wrap=True)

    def update(
        self, running: Mapping[PlannedRun, Progress], totals: Totals, places: Mapping[PlannedRun, str | None]
    ) -> None:
        """Show where the runs in progress and the whole matrix are, if it is time to.

        Args:
            running: How far each run is.
            totals: How far all of them are.
            places: The node of each run.
        """
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + (_LIVE_EVERY if self._bars is not None else _PLAIN_EVERY)
        self._began = {run: self._began.get(run, seen) for run, seen in running.items()}
        texts = {run: describe(seen, self._began[run], places[run]) for run, seen in running.items()}
        if self._bars is None:
            for run, text in texts.items():
                self.say(f"  {run.name}: {running[run].steps:,}/{run.config.steps:,} steps  {text}")
            self.say(summarise(totals))
        else:
            self._draw(self._bars, running, texts, totals)

    def _draw(
        self,
        bars: rich_progress.Progress,
        running: Mapping[PlannedRun, Progress],
        texts: Mapping[PlannedRun, str],
        totals: Totals,
    ) -> None:
        for run in [run for run in self._shown if run not in running]:
            bars.remove_task(self._shown.pop(run))
        for run, seen in running.items():
            if run not in self._shown:
                self._shown[run] = bars.add_task(run.name, total=run.config.steps, text="")
            bars.update(self._shown[run], completed=min(seen.steps, run.config.steps), text=texts[run])
        bars.update(self._total, completed=totals.steps, total=totals.total_steps, text=summarise(totals))


def describe(seen: Progress, began: Progress, place: str | None = HERE) -> str:
    """Speed since it `began` to be watched and best fitness of a run in progress, and where it is, in words."""
    where = "" if place == HERE else f"  on {place}"
    if not seen.steps:
        return f"starting{where}"
    if seen.seconds <= began.seconds:
        began = Progress()
    speed = (seen.steps - began.steps) / max(seen.seconds - began.seconds, 1e-9)
    return f"{number(speed)} steps/s  best {number(seen.best_fitness)}{where}"


def summarise(totals: Totals) -> str:
    """The whole matrix in words."""
    failed = f", {totals.failed} failed" if totals.failed else ""
    left = "" if math.isnan(totals.seconds_left) else f", about {timedelta(seconds=round(totals.seconds_left))} left"
    return f"{totals.finished} of {plural(totals.runs, 'run')} finished{failed}{left}"
