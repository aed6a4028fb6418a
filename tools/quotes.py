"""Numbers have one place, docs/results/; other pages quote them.

A page of results names a piece of its text, and another page quotes it:

    <!-- name: best -->2,087 and 2,426<!-- end -->
    <!-- from: results/ant-trap/README.md#best -->…<!-- end -->

A quote from `tables` is what all tables of final performance under docs/results/ say of an algorithm:

    <!-- from: tables#td3 -->…<!-- end -->

`python tools/quotes.py` writes what stands between the marks; a test fails if that was forgotten. The site fills them
in when it is built.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

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
    rows = [
        row
        for path in sorted((DOCS / "results").glob(_TABLES), reverse=True)  # the smallest task first
        for row in csv.DictReader(path.read_text().splitlines())
        if row["algorithm"] == algorithm and row.setdefault("task", path.parents[1].name)
    ]
    if not rows:
        return "No run of it has been finished for the tables yet."
    return "\n".join([f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|", *map(_row, rows)])


def _row(row: dict[str, str]) -> str:
    task = f"[{row['task']}](results/{row['task']}/README.md)"
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
