"""How training looks: a live panel in a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from qdpg.terminal import make_console, printable

_KINDS = ("gradients", "physics", "novelty")
_PLAIN_EVERY = 10.0  # seconds between lines when the output is not a terminal
_MARGIN = 3  # columns left free: a terminal that shows ^C at the end of a full line would begin another


class _Panel(Progress):
    """A bar with the time left, and below it what was reached; it vanishes at the end."""

    def __init__(self, console: Console) -> None:
        """Begin without a text."""
        self.text, self._screen = "", console
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TimeRemainingColumn(compact=True),
        )
        super().__init__(*columns, console=console, transient=True)

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bar, then the text, each on one line."""
        width = max(self._screen.width - _MARGIN, 1)
        table = self.make_tasks_table(self.tasks)
        table.width = width
        yield table
        text = Text(printable(self.text), no_wrap=True)
        text.truncate(width, overflow="ellipsis")
        yield text


class ProgressDisplay:
    """Steps of total, speed, time left, cells, QD score, best fitness, shares of time."""

    def __init__(self, title: str, total: int, quiet: bool = False) -> None:
        self._console = make_console(quiet=quiet, stderr=False)
        self._live = not quiet and sys.stdout.isatty()
        self._title, self._total = title, total
        self._panel: _Panel | None = None
        self._began: tuple[float, float] | None = None  # steps and seconds of the first row
        self._last_line = -_PLAIN_EVERY

    def __enter__(self) -> ProgressDisplay:
        if self._live:
            self._panel = _Panel(self._console)
            self._bar = self._panel.add_task(self._title, total=self._total)
            self._panel.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Show nothing live any more; what is said from now on stays."""
        if self._panel is not None:
            self._panel.stop()
            self._panel = None

    def update(self, row: dict[str, Any]) -> None:
        """Show the newest row of metrics."""
        text = self._describe(row)
        if self._panel is not None:
            self._panel.text = text
            self._panel.update(self._bar, completed=min(row["steps"], self._total))
        elif time.monotonic() - self._last_line >= _PLAIN_EVERY or row["steps"] >= self._total:
            self._last_line = time.monotonic()
            self._console.print(f"{row['steps']:,}/{self._total:,} steps  {text}", soft_wrap=True)

    def say(self, sentence: str) -> None:
        """Show a sentence."""
        self._console.print(sentence, soft_wrap=True)

    def _describe(self, row: dict[str, Any]) -> str:
        """What was reached; what matters most comes first, since a narrow terminal cuts the end off."""
        steps, seconds = float(row["steps"]), float(row["seconds"])
        self._began = self._began or (steps, seconds)
        elapsed = seconds - self._began[1]
        speed = (steps - self._began[0]) / elapsed if elapsed > 0 else 0.0
        cells = round(row["cells"] / row["coverage"]) if row["coverage"] > 0 else 0
        shares = "/".join(f"{100 * row.get(f'{kind}_seconds', 0.0) / max(seconds, 1e-9):.0f}" for kind in _KINDS)
        left = "" if self._panel is not None else f"  {self._left(steps, speed)}"  # the panel's bar says it
        return (
            f"{speed:,.0f} steps/s{left}  cells {row['cells']:,} of {cells:,}  QD {row['qd_score']:,.0f}  "
            f"best {row['best_fitness']:,.1f}  grad/phys/nov {shares}%"
        )

    def _left(self, steps: float, speed: float) -> str:
        return f"{max(self._total - steps, 0) / speed:,.0f} s left" if speed > 0 else "…"
