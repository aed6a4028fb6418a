"""`qdpg evaluate`: what the elites of a run are worth from fresh starts."""

from __future__ import annotations

import json
import signal
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from qdpg.cli.show import plain
from qdpg.evaluation.evaluate import evaluate
from qdpg.evaluation.words import describe
from qdpg.runs.compiled import cache_compiled_programs
from qdpg.runs.run import load_run


def run(path: Path, episodes: int, seed: int, seconds: float, as_json: bool, quiet: bool) -> int:
    """Evaluate the run in `path`, and print what came of it; 0 if all episodes were played, 130 if stopped."""
    cache_compiled_programs()
    found = load_run(path)
    received: list[int] = []

    def stop_soon(signal_number: int, frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(signal_number)

    columns = (TextColumn("episodes from fresh starts"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown = Progress(*columns, console=Console(stderr=True), disable=as_json or quiet)
    previous = {each: signal.signal(each, stop_soon) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        with shown if not shown.disable else nullcontext():
            bar = shown.add_task("")
            result = evaluate(
                found,
                episodes,
                seed,
                seconds,
                lambda done, of: shown.update(bar, completed=done, total=of),
                lambda: bool(received),
            )
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)
    summary = result.summary
    if as_json:
        print(json.dumps(plain(summary)))
    elif not quiet:
        Console().print(_table(path, summary))
    return 128 + received[0] if received else 0


def _table(path: Path, summary: dict[str, Any]) -> Table:
    table = Table(title=str(path), title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for label, text in describe(summary).items():
        table.add_row(label, text)
    return table
