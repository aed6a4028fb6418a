"""`qdpg export`: elites as ONNX, NumPy arrays or videos."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from qdpg.compiled import cache_compiled_programs
from qdpg.errors import UserError
from qdpg.exports.export import Exported, Kind, export
from qdpg.ranges import SEED, check_seconds
from qdpg.report.words import plural
from qdpg.runs.run import load_run
from qdpg.terminal import make_console


def run(
    paths: Sequence[Path],
    to: Kind,
    best: bool,
    cell: str | None,
    near: str | None,
    everything: bool,
    fresh: int | None,
    seconds: float,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    trust: bool = False,
    together: bool = False,
) -> int:
    """Export elites of every run, and print where they are; 0."""
    cache_compiled_programs()
    check_seconds(seconds, "--seconds")
    if fresh is not None:
        SEED.check(fresh, "--fresh")
    if not paths:
        raise UserError("give the directory of at least one run.")
    names = Counter(path.resolve().name for path in paths)
    if out is not None and max(names.values()) > 1:
        raise UserError("two of the runs have the same name, and their files would mix; leave out --out.")
    runs = [load_run(path, trust) for path in paths]  # says what is wrong with any of them before anything is written
    chosen = {
        "best": best,
        "cell": None if cell is None else parse_numbers("--cell", cell, int),
        "near": None if near is None else parse_numbers("--near", near, float),
        "everything": everything,
        "together": together,
    }
    with elite_progress(as_json, quiet) as show:
        results = []
        for each in runs:
            directory = out if out is None or len(runs) == 1 else out / each.path.resolve().name
            results.append(
                export(
                    each,
                    to,
                    directory,
                    **chosen,  # type: ignore[arg-type]
                    fresh=fresh,
                    seconds=seconds,
                    progress=show(),
                )
            )
    _print(results, to, as_json, quiet)
    return 0


@contextmanager
def elite_progress(as_json: bool, quiet: bool) -> Iterator[Callable[[], Callable[[int, int], None]]]:
    """A function that begins a bar of elites; the bar is told how many are done, of how many."""
    columns = (TextColumn("elites"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=make_console(stderr=True), transient=True, disable=as_json or quiet) as shown:

        def begin() -> Callable[[int, int], None]:
            bar = shown.add_task("")
            return lambda done, of: shown.update(bar, completed=done, total=of)

        yield begin


def parse_numbers(option: str, text: str, kind: type[int] | type[float]) -> list[float]:
    """Turn "3,4" into numbers.

    Raises:
        UserError: They are none.
    """
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise UserError(f"{option} is {text!r}, but must be {what} between commas, such as 3,4.") from None


def _print(results: list[Exported], to: Kind, as_json: bool, quiet: bool) -> None:
    files = [path for result in results for path in result.files]
    differences = [result.largest_difference for result in results if result.largest_difference is not None]
    largest = max(differences, default=None)
    if as_json:
        print(json.dumps({"files": list(map(str, files)), "largest_difference": largest}))
    elif not quiet:
        if len(files) <= 10:
            print(*files, sep="\n")
        else:
            print(*sorted({path.parent for path in files}), sep="\n")
        count = plural(len(files), "policy" if to in ("onnx", "npz") else to).replace("policys", "policies")
        alike = "" if largest is None else f"; largest difference of an action from the player's: {largest:.2g}"
        print(f"{count}{alike}")
