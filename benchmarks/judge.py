"""Train algorithms on tasks, evaluate every elite from fresh starts, and write one row per run.

    python benchmarks/judge.py --tasks walker2d-uni judging_tasks:rooms --algorithms dc-qd-pg map-elites \
        --seeds 11 12 13 --out runs/judge --rows docs/results/any-task/rows.csv

Runs that have a row are left alone, so a stopped judging goes on. Each run has one core to itself, and its row says
which revision it comes from, and nothing of CPU seconds if it was stopped in between. `docs/results/any-task` holds the
rows, `docs/research/any-task.md` what they mean.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
MOST_LETTERS = 150  # of settings in the name of a directory; file systems allow 255 in all
COLUMNS = (
    *("task", "algorithm", "settings", "seed", "steps", "episodes", "corrected_cells", "corrected_qd_score"),
    *("stored_cells", "stored_qd_score", "own_cell", "best_evaluated", "cpu_seconds", "revision"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", required=True)
    parser.add_argument("--algorithms", nargs="+", required=True)
    parser.add_argument("--seeds", nargs="+", type=int, required=True)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--set", nargs="*", default=[], help="settings of all algorithms: none where one judges")
    parser.add_argument("--core", type=int, default=0, help="the core that runs have to themselves")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    for seed in options.seeds:
        for task in options.tasks:
            for algorithm in options.algorithms:
                key = (task, algorithm, " ".join(options.set), str(seed), str(options.steps))
                if key not in known_keys(options.rows):
                    append(options.rows, judge(*key, options.episodes, options.out.resolve()))


def known_keys(rows: Path) -> set[tuple[str, ...]]:
    """What has a row already."""
    if not rows.exists():
        return set()
    with rows.open(newline="") as file:
        return {tuple(row[name] for name in COLUMNS[:5]) for row in csv.DictReader(file)}


def append(rows: Path, row: dict[str, object]) -> None:
    """Write one row, and the heading before the first."""
    rows.parent.mkdir(parents=True, exist_ok=True)
    new = not rows.exists()
    with rows.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerow(row)


def judge(task: str, algorithm: str, settings: str, seed: str, steps: str, episodes: int, out: Path) -> dict:
    """Train one run and evaluate it; its row."""
    changes = "-".join(settings.split())
    if len(changes) > MOST_LETTERS:
        changes = hashlib.sha256(changes.encode()).hexdigest()[:12]
    parts = [task, algorithm, changes, seed, steps] if changes else [task, algorithm, seed, steps]
    run = out / "-".join(parts).replace("=", "_").replace(":", ".")
    options = ["--algorithm", algorithm, "--seed", seed, "--steps", steps, "--evaluate-seconds", "0", "--quiet"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    was_stopped = run.exists()
    if was_stopped:
        command("resume", str(run), "--steps", steps, "--trust", "--evaluate-seconds", "0", "--quiet")
    else:
        given = ["--set", *settings.split()] if settings else []
        command("train", task, *options, "--out", str(run), *given)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(command("evaluate", str(run), "--episodes", str(episodes), "--trust", "--json"))
    made_by = json.loads((run / "manifest.json").read_text())
    seconds = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {
        **dict(zip(COLUMNS[:5], (task, algorithm, settings, seed, steps), strict=True)),
        "episodes": episodes,
        **figures(found),
        "cpu_seconds": "" if was_stopped else seconds,
        "revision": f"{made_by['revision']}"[:7] + "-dirty" * made_by["changed"],
    }


def figures(found: dict) -> dict[str, object]:
    """The figures of `qdpg evaluate --json` that a row has."""
    corrected, stored, best = found["corrected"], found["stored"], found["best"]
    return {
        "corrected_cells": corrected["cells"],
        "corrected_qd_score": round(corrected["qd_score"], 1),
        "stored_cells": stored["cells"],
        "stored_qd_score": round(stored["qd_score"], 1),
        "own_cell": round(found["share_own_cell"], 3),
        "best_evaluated": round(best["mean"], 2),
    }


def command(*words: str) -> str:
    """Run a command of ours from this directory, where the judging tasks are; what it printed."""
    qdpg = [sys.executable, "-m", "qdpg", *words]
    return subprocess.run(qdpg, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
