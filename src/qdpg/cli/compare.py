"""`qdpg compare`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from qdpg.cli.settings import parse_settings
from qdpg.cluster.engine import RayEngine
from qdpg.errors import UserError
from qdpg.matrix.compare import compare
from qdpg.matrix.matrix import parse_seeds
from qdpg.report.words import plural


def run(
    out: Path,
    tasks: Sequence[str] | None,
    algorithms: Sequence[str] | None,
    seeds: str | None,
    steps: int | None,
    preset: str | None,
    settings: Sequence[str] | None,
    jobs: int | None,
    threads: int | None,
    checkpoint_seconds: float,
    evaluate_seconds: float,
    trust: bool,
    quiet: bool,
    engine: RayEngine | None = None,
) -> int:
    """Run the matrix; 0 if every run is finished, 1 if some failed, 128 plus the signal if it was stopped."""
    outcome = compare(
        out,
        _names(tasks),
        _names(algorithms),
        None if seeds is None else parse_seeds(seeds),
        steps,
        preset,
        None if settings is None else parse_settings(settings),
        jobs=jobs,
        threads=threads,
        checkpoint_seconds=checkpoint_seconds,
        evaluate_seconds=evaluate_seconds,
        trust=trust,
        engine=engine or "local",
        quiet=quiet,
    )
    done, number = len(outcome.finished), len(outcome.runs)
    if outcome.failures:
        failed = plural(len(outcome.failures), "run")
        print(f"qdpg: {failed} of {number} failed; see {out / 'failures.json'}", file=sys.stderr)
    if not quiet:
        again = "" if done == number else f"; go on with: qdpg compare --out {out}"
        print(f"{'stopped' if outcome.stopped else 'done'}: {done} of {plural(number, 'run')} finished{again}")
    if outcome.stopped:
        return 128 + outcome.stopped
    return 1 if outcome.failures else 0


def _names(words: Sequence[str] | None) -> tuple[str, ...] | None:
    """Take names apart, whether they come as words of their own or between commas."""
    if words is None:
        return None
    names = tuple(name.strip() for word in words for name in word.split(","))
    if "" in names:
        raise UserError(f"a name is missing in {' '.join(words)!r}; write names between commas.")
    return names
