"""The table of what `judge.py` found: medians and ranges over seeds, and who is ahead of whom, as Markdown.

python benchmarks/judged.py docs/results/any-task/rows.csv --ours dc-qd-pg
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from pathlib import Path
from statistics import median

Way = tuple[str, str, str]  # algorithm, settings, steps
Rows = dict[tuple[str, Way], list[dict[str, str]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--ours", required=True, help="the algorithm that others are compared with, without settings")
    options = parser.parse_args()
    rows = read_rows(options.rows)
    print("\n".join([*write_table(rows, options.ours), "", *write_wins(rows, options.ours)]))


def read_rows(path: Path) -> Rows:
    """Rows by task and way of training, in the order of the file."""
    found: Rows = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["task"], (row["algorithm"], row["settings"], row["steps"])].append(row)
    return dict(found)


def middle(rows: list[dict[str, str]], column: str) -> float:
    """The median of what is known; NaN if nothing is."""
    known = [float(row[column]) for row in rows if row[column]]
    return median(known) if known else math.nan


def score(rows: Rows, task: str, way: Way) -> float:
    """The median corrected QD score; NaN without rows."""
    return middle(rows.get((task, way), []), "corrected_qd_score")


def write_table(rows: Rows, ours: str) -> list[str]:
    """One line per task and way of training, the best of each task first."""
    lines = [
        f"| task | algorithm | corrected QD score | beside {ours} | corrected cells | in own cell "
        "| best elite, evaluated | CPU s | seeds |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for task in dict.fromkeys(task for task, _ in rows):
        for way in sorted((way for each, way in rows if each == task), key=lambda way: -score(rows, task, way)):
            name, settings, steps = way
            own = rows[task, way]
            qd = sorted(float(row["corrected_qd_score"]) for row in own)
            beside = score(rows, task, (ours, "", steps))
            ratio = score(rows, task, way) / beside if beside else math.nan
            cells, kept, best, seconds = (
                middle(own, column) for column in ("corrected_cells", "own_cell", "best_evaluated", "cpu_seconds")
            )
            label = f"`{name}`" + f", `{settings}`" * bool(settings)
            numbers = (f"{ratio:.2f}", f"{cells:.0f}", f"{kept:.2f}", f"{best:,.0f}", f"{seconds:,.0f}")
            shown = [number.replace("nan", "–").replace("-", "−") for number in numbers]
            lines.append(
                f"| {task.rpartition(':')[2]} | {label} | {median(qd):,.0f} ({qd[0]:,.0f} to {qd[-1]:,.0f}) "
                f"| {' | '.join(shown)} | {len(own)} |"
            )
    return lines


def write_wins(rows: Rows, ours: str) -> list[str]:
    """On how many tasks the median of ours is ahead of each other's."""
    pairs = [(task, way) for task, way in rows if way[:2] != (ours, "")]
    lines = []
    for other in dict.fromkeys(way[:2] for _, way in pairs):
        shared = [(task, way) for task, way in pairs if way[:2] == other and (task, (ours, "", way[2])) in rows]
        won = sum(score(rows, task, (ours, "", way[2])) > score(rows, task, way) for task, way in shared)
        lines.append(f"{ours} is ahead of {' '.join(other).strip()} on {won} of {len(shared)} tasks.")
    return lines


if __name__ == "__main__":
    main()
