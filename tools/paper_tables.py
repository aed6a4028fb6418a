"""The paper's tables beside ours, at budgets that two cores can pay: what is there, and what is missing with its cost.

    make results                                        # write docs/results/paper.md from what is there
    python tools/paper_tables.py --run point-maze       # train what is missing of one part, then write it

Training is `qdpg compare`, into runs/results: stop it when you like, it goes on where it was. Every finished and
evaluated run becomes a row of docs/results/paper.csv, so that rows outlive the machine. Runs of code that was not
committed get none. The paper's figures of the runs that are there are drawn into docs/results/paper.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from paper_page import FIGURES, PAGE, write_page
from paper_rows import CSV, PARTS, ROOT, RUNS, collect, merge, read_rows, write_rows

from qdpg.report.words import plural


def main() -> None:
    """Train if that is asked for; then write rows and page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", choices=[part.name for part in PARTS], help="train what is missing of this part first")
    options = parser.parse_args()
    for part in PARTS:
        if part.name == options.run:
            subprocess.run([sys.executable, "-m", "qdpg", *part.command()], cwd=ROOT, check=True)
    rows = merge(read_rows(CSV), collect(RUNS))
    write_rows(CSV, rows)
    PAGE.write_text(write_page(rows))
    draw(RUNS)
    print(f"{PAGE.relative_to(ROOT)}: {plural(len(rows), 'run')}")


def draw(runs: Path) -> None:
    """Draw the paper's figures of the parts whose runs are here; those drawn earlier stay as they are."""
    for part in PARTS:
        if collect(runs, (part,)):
            words = ["report", str(runs / part.name), "--out", str(FIGURES / part.name), "--quiet"]
            subprocess.run([sys.executable, "-m", "qdpg", *words], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
