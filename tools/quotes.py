"""Numbers have one place, docs/results/; other pages quote them.

A page of results names a piece of its text, and another page quotes it:

    <!-- name: best -->2,087 and 2,426<!-- end -->
    <!-- from: results/ant-trap/README.md#best -->…<!-- end -->

A quote from `tables` is what docs/results/paper.csv says of an algorithm, and of tasks that it has no rows of, what the
tables of final performance under docs/results/ say:

    <!-- from: tables#td3 -->…<!-- end -->

`python tools/quotes.py` writes what stands between the marks; a test fails if that was forgotten. The site fills them
in when it is built.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from qdpg.report.paper import FINAL

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_NAMED = re.compile(r"<!-- name: (\S+) -->(.*?)<!-- end -->", re.DOTALL)
_QUOTED = re.compile(r"(<!-- from: (\S+)#(\S+) -->)(.*?)(<!-- end -->)", re.DOTALL)
_TABLES = "*/tables/*-final-performance.csv"
_COLUMNS = ("task", "best elite, evaluated", "best stored (optimistic)", "solved", "seeds", "steps", "the paper")


def fill(text: str) -> str:
    """A page with all its quotes up to date.

    Raises:
        KeyError: Nothing of that name is there.
    """
    return _QUOTED.sub(lambda match: match[1] + find(match[2], match[3]) + match[5], text)


def find(source: str, name: str) -> str:
    """What a quote says.

    Args:
        source: A page, as a path in docs/; or "tables".
        name: The name of the piece, or of an algorithm.
    """
    if source == "tables":
        return f"\n\n{_reached(name)}\n\n"
    named = dict(_NAMED.findall((DOCS / source).read_text()))
    if name not in named:
        raise KeyError(
            f"docs/{source} has no piece named {name}: put it between <!-- name: {name} --> and <!-- end -->"
        )
    return named[name]


def _reached(algorithm: str) -> str:
    rows = _rows_of_paper(algorithm)
    known = {row["task"] for row in rows}
    rows += [
        row
        for path in sorted((DOCS / "results").glob(_TABLES), reverse=True)  # the smallest task first
        for row in csv.DictReader(path.read_text().splitlines())
        if row["algorithm"] == algorithm and row.setdefault("task", path.parents[1].name) not in known
    ]
    if not rows:
        return "No run of it has been finished for the tables yet."
    return "\n".join([f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|", *map(_row, rows)])


def _rows_of_paper(algorithm: str) -> list[dict[str, str]]:
    """Rows of docs/results/paper.csv as a row of a table of final performance for each task."""
    path = DOCS / "results" / "paper.csv"
    held = list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []
    found = []
    for task, printed in FINAL.items():
        own = [row for row in held if row["part"] in (task, f"{task}-evolution") and row["algorithm"] == algorithm]
        if not own:
            continue
        row = {"task": task, "seeds": str(len(own)), "page": "results/paper.md"}
        row |= _summary("evaluated_best", own, "evaluated") | _summary("best_elite", own, "stored")
        row |= {"steps": f"{median(float(each['steps']) for each in own)}", "solved": ""}
        if own[0]["solved_after"] != "nan":  # the task says when it is solved
            row["solved"] = str(sum(math.isfinite(float(each["solved_after"])) for each in own))
        if algorithm in printed:
            row |= {"paper_median": str(printed[algorithm].median), "paper_half_iqr": str(printed[algorithm].spread)}
        found.append(row)
    return found


def _summary(name: str, rows: list[dict[str, str]], column: str) -> dict[str, str]:
    """The median, and half the range between the quartiles."""
    low, middle, high = np.quantile([float(row[column]) for row in rows], [0.25, 0.5, 0.75])
    return {f"{name}_median": str(middle), f"{name}_half_iqr": str((high - low) / 2)}


def _row(row: dict[str, str]) -> str:
    task = f"[{row['task']}]({row.get('page', 'results/' + row['task'] + '/README.md')})"
    solved = f"{row['solved']} of {row['seeds']}" if row["solved"] else "–"
    cells = [task, _spread(row, "evaluated_best"), _spread(row, "best_elite"), solved, row["seeds"]]
    cells += [f"{float(row['steps']):,.0f}", _spread(row, "paper")]
    return "| " + " | ".join(cells) + " |"


def _spread(row: dict[str, str], name: str) -> str:
    """A median ± half the range between the quartiles; the second is missing where there is one seed."""
    if row.get(f"{name}_median") in (None, "", "nan"):
        return "–"
    numbers = [float(row[f"{name}_{part}"] or 0) for part in ("median", "half_iqr")]
    digits = 0 if abs(numbers[0]) >= 1000 or name == "paper" else 1
    words = [f"{number:,.{digits}f}".replace("-", "−") for number in numbers]
    return words[0] if row["seeds"] == "1" and name != "paper" else " ± ".join(words)


def pages() -> Iterator[Path]:
    """Every text that may quote."""
    yield from sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def stale() -> list[Path]:
    """Pages whose quotes are not what they quote."""
    return [page for page in pages() if fill(page.read_text()) != page.read_text()]


if __name__ == "__main__":
    for page in stale():
        page.write_text(fill(page.read_text()))
        print(page.relative_to(ROOT))
