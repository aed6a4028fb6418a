"""How training looks: a live panel in a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

_KINDS = ("gradients", "physics", "novelty")
_PLAIN_EVERY = 10.0  # seconds between lines when the output is not a terminal


class ProgressDisplay:
    """Steps of total, speed, time left, cells, QD score, best fitness, shares of time."""

    def __init__(self, title: str, total: int, quiet: bool = False) -> None:
        self._console = Console(quiet=quiet, stderr=False)
        self._live = not quiet and sys.stdout.isatty()
        self._title, self._total = title, total
        self._progress: Progress | None = None
        self._began: tuple[float, float] | None = None  # steps and seconds of the first row
        self._last_line = -_PLAIN_EVERY

    def __enter__(self) -> ProgressDisplay:
        if self._live:
            columns = (
                TextColumn("[bold]{task.description}"),
                BarColumn(bar_width=24),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[text]}"),
            )
            self._progress = Progress(*columns, console=self._console)
            self._bar = self._progress.add_task(self._title, total=self._total, text="")
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def update(self, row: dict[str, Any]) -> None:
        """Show the newest row of metrics."""
        text = self._describe(row)
        if self._progress is not None:
            self._progress.update(self._bar, completed=min(row["steps"], self._total), text=text)
        elif time.monotonic() - self._last_line >= _PLAIN_EVERY or row["steps"] >= self._total:
            self._last_line = time.monotonic()
            self._console.print(f"{row['steps']:,}/{self._total:,} steps  {text}", soft_wrap=True, highlight=False)

    def say(self, sentence: str) -> None:
        """Show a sentence."""
        self._console.print(sentence, soft_wrap=True, highlight=False)

    def _describe(self, row: dict[str, Any]) -> str:
        steps, seconds = float(row["steps"]), float(row["seconds"])
        self._began = self._began or (steps, seconds)
        elapsed = seconds - self._began[1]
        speed = (steps - self._began[0]) / elapsed if elapsed > 0 else 0.0
        left = f"{max(self._total - steps, 0) / speed:,.0f} s left" if speed > 0 else "…"
        shares = "/".join(f"{100 * row.get(f'{kind}_seconds', 0.0) / max(seconds, 1e-9):.0f}%" for kind in _KINDS)
        return (
            f"{speed:,.0f} steps/s  {left}  cells {row['cells']}  QD {row['qd_score']:,.0f}  "
            f"best {row['best_fitness']:.1f}  gradients/physics/novelty {shares}"
        )
