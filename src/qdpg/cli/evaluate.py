"""`qdpg evaluate`: what the elites of a run are worth from fresh starts."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from qdpg.cluster.engine import RayEngine
from qdpg.compiled import cache_compiled_programs
from qdpg.evaluation.evaluate import evaluate
from qdpg.runs.run import load_run
from qdpg.runs.signals import stop_soon
from qdpg.runs.summary import describe_evaluation, plain, print_words
from qdpg.terminal import make_console


def run(
    path: Path,
    episodes: int,
    seed: int,
    seconds: float,
    as_json: bool,
    quiet: bool,
    trust: bool = False,
    engine: RayEngine | None = None,
) -> int:
    """Evaluate the run in `path`, and print what came of it; 0 if all episodes were played, 130 if stopped."""
    cache_compiled_programs()
    found = load_run(path, trust)
    found.check_trust()
    columns = (TextColumn("episodes from fresh starts"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown = Progress(*columns, console=make_console(stderr=True), disable=as_json or quiet)
    with stop_soon() as received, shown if not shown.disable else nullcontext():
        bar = shown.add_task("")
        result = evaluate(
            found,
            episodes,
            seed,
            seconds,
            lambda done, of: shown.update(bar, completed=done, total=of),
            lambda: bool(received),
            engine=engine or "local",
        )
    summary = result.summary
    if as_json:
        print(json.dumps(plain(summary)))
    elif not quiet:
        print_words(str(path), describe_evaluation(summary))
    return 128 + received[0] if received else 0
