"""This checkout against another revision of qdpg: short trainings by turns, the best turn of each counts.

    python benchmarks/against_revision.py af3ebc3 --turns 3 \
        --task point-maze --task ant-trap --old ant-trap:practice=20000 --new ant-trap:warm_up_steps=20000

The machine may be noisy, so contestants alternate and only ratios are worth anything. Both run with the libraries of
this environment. Settings that have another name in the other revision are given with --old, --new as TASK:KEY=VALUE.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parents[1]
STEPS = {"point-maze": 30_000, "ant-trap": 60_000, "ant-maze": 60_000}
COMPILING = 0.3  # share of generations, the first ones, that do not count


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="the other revision")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--task", action="append", default=[], help="built-in tasks; point-maze if none is given")
    parser.add_argument("--old", action="append", default=[], metavar="TASK:KEY=VALUE")
    parser.add_argument("--new", action="append", default=[], metavar="TASK:KEY=VALUE")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        sources = {"old": _unpack(asked.revision, Path(folder)), "new": HERE / "src"}
        print("| task | old, steps/s | new, steps/s | ratio |\n|---|---|---|---|")
        for task in asked.task or ["point-maze"]:
            settings = {who: _own(getattr(asked, who), task) for who in sources}
            best = dict.fromkeys(sources, 0.0)
            for turn in range(asked.turns):
                for who, source in sources.items():
                    out = Path(folder) / f"{task}-{who}-{turn}"
                    best[who] = max(best[who], _train(source, task, settings[who], out))
            print(f"| {task} | {best['old']:,.0f} | {best['new']:,.0f} | {best['new'] / best['old']:.3f} |", flush=True)


def _unpack(revision: str, folder: Path) -> Path:
    """The source of another revision, taken out of the repository."""
    packed = folder / "source.tar"
    subprocess.run(["git", "-C", str(HERE), "archive", "-o", str(packed), revision, "src"], check=True)
    with tarfile.open(packed) as archive:
        archive.extractall(folder / "other", filter="data")
    return folder / "other" / "src"


def _own(pairs: list[str], task: str) -> list[str]:
    """The settings that are meant for `task`."""
    own = [pair.partition(":")[2] for pair in pairs if pair.startswith(f"{task}:")]
    return ["--set", *own] if own else []


def _train(source: Path, task: str, settings: list[str], out: Path) -> float:
    """Environment steps per second of a training, compilation left out."""
    command = [sys.executable, "-c", "from qdpg.cli.main import main; main()", "train", task, "--quiet"]
    command += ["--steps", str(STEPS[task]), "--out", str(out), *settings]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(source)})
    with (out / "metrics.csv").open() as log:
        rows = list(csv.DictReader(log))
    first, last = rows[int(len(rows) * COMPILING)], rows[-1]
    return (int(last["steps"]) - int(first["steps"])) / (float(last["seconds"]) - float(first["seconds"]))


if __name__ == "__main__":
    main()
