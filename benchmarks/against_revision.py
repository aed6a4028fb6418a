"""This checkout against another revision of qdpg: short trainings by turns, the best turn of each counts.

    python benchmarks/against_revision.py af3ebc3 --turns 3 \
        --task point-maze --task ant-trap --old ant-trap:practice=20000 --new ant-trap:warm_up_steps=20000
    python benchmarks/against_revision.py af3ebc3 --turns 3 --bench engine --bench iteration

The machine may be noisy, so contestants alternate and only ratios are worth anything. Both run with the libraries of
this environment. Settings that have another name in the other revision are given with --old, --new as TASK:KEY=VALUE.
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parents[1]
STEPS = {"point-maze": 30_000, "ant-trap": 60_000, "ant-maze": 60_000}
COMPILING = 0.3  # share of generations, the first ones, that do not count
SPEEDS = ("agent_steps_per_s", "env_steps_per_s")  # what `qdpg bench` measures that says how fast we are


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="the other revision")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--task", action="append", default=[], help="built-in tasks to train on for a while")
    parser.add_argument(
        "--bench", action="append", default=[], choices=["engine", "iteration"], help="`qdpg bench` WHAT"
    )
    parser.add_argument("--old", action="append", default=[], metavar="TASK:KEY=VALUE")
    parser.add_argument("--new", action="append", default=[], metavar="TASK:KEY=VALUE")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        sources = {"old": _unpack(asked.revision, Path(folder)), "new": HERE / "src"}
        print("| what | old, steps/s | new, steps/s | ratio |\n|---|---|---|---|")
        for task in asked.task:
            train = functools.partial(_train, sources, task, {who: _own(getattr(asked, who), task) for who in sources})
            _race(sources, asked.turns, functools.partial(train, Path(folder)))
        for what in asked.bench:
            _race(sources, asked.turns, functools.partial(_bench, sources, what))


def _race(names: Iterable[str], turns: int, run: Callable[[str, int], dict[str, float]]) -> None:
    """Let the revisions run by turns; print the best of each and their ratio."""
    best: dict[str, dict[str, float]] = {who: {} for who in names}
    for turn in range(turns):
        for who, found in best.items():
            for what, speed in run(who, turn).items():
                found[what] = max(found.get(what, 0.0), speed)
    for what, old in best["old"].items():
        new = best["new"][what]
        print(f"| {what} | {old:,.0f} | {new:,.0f} | {new / old:.3f} |", flush=True)


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


def _run(source: Path, words: Sequence[str]) -> str:
    """What a command of the revision at `source` prints."""
    command = [sys.executable, "-c", "from qdpg.cli.main import main; main()", *words]
    done = subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(source)}, stdout=subprocess.PIPE)
    return done.stdout.decode()


def _bench(sources: Mapping[str, Path], what: str, who: str, turn: int) -> dict[str, float]:
    """The speeds that `qdpg bench` measures, by configuration."""
    found = json.loads(_run(sources[who], ["bench", what, "--turns", "3", "--json"]))
    return {f"bench {what}, {name}": each[speed] for name, each in found.items() for speed in SPEEDS if speed in each}


def _train(
    sources: Mapping[str, Path], task: str, settings: Mapping[str, list[str]], folder: Path, who: str, turn: int
) -> dict[str, float]:
    """Environment steps per second of a training, compilation left out."""
    out = folder / f"{task}-{who}-{turn}"
    _run(sources[who], ["train", task, "--quiet", "--steps", str(STEPS[task]), "--out", str(out), *settings[who]])
    with (out / "metrics.csv").open() as log:
        rows = list(csv.DictReader(log))
    first, last = rows[int(len(rows) * COMPILING)], rows[-1]
    return {task: (int(last["steps"]) - int(first["steps"])) / (float(last["seconds"]) - float(first["seconds"]))}


if __name__ == "__main__":
    main()
