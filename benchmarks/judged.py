"""The table of what `judge.py` found: medians and ranges over seeds, and who is ahead of whom, as Markdown.

python benchmarks/judged.py docs/results/any-task/rows.csv --ours dc-qd-pg
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from statistics import median

Rows = dict[tuple[str, str], list[dict[str, str]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--ours", required=True, help="the algorithm that others are compared with")
    options = parser.parse_args()
    rows = read_rows(options.rows)
    print("\n".join([*write_table(rows, options.ours), "", *write_wins(rows, options.ours)]))


def read_rows(path: Path) -> Rows:
    """Rows by task and algorithm, in the order of the file."""
    found: Rows = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["task"], row["algorithm"]].append(row)
    return dict(found)


def score(rows: Rows, task: str, algorithm: str) -> float:
    """The median corrected QD score."""
    return median(float(row["corrected_qd_score"]) for row in rows[task, algorithm])


def write_table(rows: Rows, ours: str) -> list[str]:
    """One line per task and algorithm, the best of each task first."""
    lines = [
        f"| task | algorithm | corrected QD score | beside {ours} | corrected cells | in own cell "
        "| best elite, evaluated | CPU s | seeds |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for task in dict.fromkeys(task for task, _ in rows):
        algorithms = sorted((name for each, name in rows if each == task), key=lambda name: -score(rows, task, name))
        for name in algorithms:
            own = rows[task, name]
            qd = sorted(float(row["corrected_qd_score"]) for row in own)
            ratio = score(rows, task, name) / score(rows, task, ours)
            cells, seconds = (
                median(float(row[column]) for row in own) for column in ("corrected_cells", "cpu_seconds")
            )
            kept, best = (median(float(row[column]) for row in own) for column in ("own_cell", "best_evaluated"))
            lines.append(
                f"| {task.rpartition(':')[2]} | `{name}` | {median(qd):,.0f} ({qd[0]:,.0f} to {qd[-1]:,.0f}) "
                f"| {ratio:.2f} | {cells:.0f} | {kept:.2f} | {best:,.0f} | {seconds:.0f} | {len(own)} |"
            )
    return lines


def write_wins(rows: Rows, ours: str) -> list[str]:
    """On how many tasks the median of ours is ahead of each other's."""
    tasks = [task for task, name in rows if name == ours]
    others = dict.fromkeys(name for _, name in rows if name != ours)
    wins = {
        other: [score(rows, task, ours) > score(rows, task, other) for task in tasks if (task, other) in rows]
        for other in others
    }
    return [f"{ours} is ahead of {other} on {sum(won)} of {len(won)} tasks." for other, won in wins.items()]


if __name__ == "__main__":
    main()
