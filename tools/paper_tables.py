"""The paper's tables beside ours, at budgets that two cores can pay: what is there, and what is missing with its cost.

    make results                                        # write docs/results/paper.md from what is there
    python tools/paper_tables.py --run point-maze       # train what is missing of one part, then write it

Training is `qdpg compare`, into runs/results: stop it when you like, it goes on where it was. Every finished and
evaluated run becomes a row of docs/results/paper.csv, so that rows outlive the machine. Runs of code that was not
committed get none.
"""

from __future__ import annotations

import argparse
import csv
import math
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from qdpg.errors import UserError
from qdpg.report import paper
from qdpg.report.gather import gather
from qdpg.report.result import Result
from qdpg.report.statistics import bootstrap_interval, interquartile_mean
from qdpg.report.words import plural

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "results"
CSV = ROOT / "docs" / "results" / "paper.csv"
PAGE = CSV.with_suffix(".md")
TABLE_1 = tuple(paper.FINAL["point-maze"])  # in the paper's order
OTHERS = ("dc-qd-pg", "dcrl-me", "map-elites")
Row = dict[str, str]


class Part(NamedTuple):
    """Runs that make one table."""

    name: str
    title: str
    task: str
    algorithms: tuple[str, ...]
    seeds: int
    steps: int

    def command(self) -> list[str]:
        """The words of `qdpg compare` that train all of it."""
        asked = ["--tasks", self.task, "--algorithms", ",".join(self.algorithms), "--seeds", str(self.seeds)]
        place = (RUNS / self.name).relative_to(ROOT).as_posix()
        return ["compare", *asked, "--steps", str(self.steps), "--threads", "1", "--out", place]


EVOLUTION = ("cvt-map-elites", "cma-mae", "me-es", "ns-es", "nsr-es", "nsra-es")
PARTS = (
    Part("point-maze", "Table 1, point-maze", "point-maze", (*TABLE_1, *OTHERS, *EVOLUTION), paper.SEEDS, 10**6),
    Part("ant-trap", "Table 1, ant-trap", "ant-trap", (*TABLE_1, *OTHERS), 3, 10**6),
    Part("ant-maze", "Table 1, ant-maze", "ant-maze", (*TABLE_1, *OTHERS), 3, 10**6),
    Part("ant-maze-evolution", "Table 2, ant-maze", "ant-maze", ("me-es", "nsr-es", "nsra-es"), 3, 10**7),
)
COLUMNS = (
    *("part", "algorithm", "seed", "steps", "evaluated", "stored", "corrected_qd_score", "own_cell", "coverage"),
    *("seconds", "memory_mb", "qdpg", "revision", "machine", "started"),
)


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
    print(f"{PAGE.relative_to(ROOT)}: {plural(len(rows), 'run')}")


def collect(runs: Path) -> list[Row]:
    """A row for each run that is finished, evaluated, of committed code, and belongs to a part."""
    found = []
    for part in PARTS:
        if not (runs / part.name).is_dir():
            continue
        try:
            results = gather([runs / part.name]).results
        except UserError:
            continue  # nothing was saved yet
        found += [make_row(part, result) for result in results if counts(part, result)]
    return found


def counts(part: Part, result: Result) -> bool:
    """Whether a run is one of this part, as it is to be."""
    config, manifest = result.run.config, result.run.manifest
    is_asked_for = (config["task"], config["preset"], config["steps"]) == (part.task, "tuned", part.steps)
    is_known = bool(manifest.get("revision")) and not manifest.get("changed", True)
    return is_asked_for and is_known and result.is_finished and math.isfinite(result.evaluated_best)


def make_row(part: Part, result: Result) -> Row:
    """What is remembered of a run."""
    config, manifest = result.run.config, result.run.manifest
    numbers = {
        "evaluated": result.evaluated_best,
        "stored": result.best_elite,
        "corrected_qd_score": result.corrected_qd_score,
        "own_cell": result.share_own_cell,
        "coverage": result.coverage,
        "seconds": result.seconds,
        "memory_mb": result.peak_memory / 1e6,
    }
    return (
        {"part": part.name, "algorithm": config["algorithm"], "seed": str(config["seed"]), "steps": str(result.steps)}
        | {name: f"{value:.6g}" for name, value in numbers.items()}
        | {"qdpg": manifest["qdpg"], "revision": manifest["revision"][:12]}
        | {"machine": manifest.get("cpu") or manifest["machine"], "started": manifest["started"][:10]}
    )


def merge(old: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """All rows in the order of the parts; a new one takes the place of an old one of the same run."""
    held = {(row["part"], row["algorithm"], int(row["seed"])): row for row in [*old, *new]}
    order = {(part.name, name): place for part in PARTS for place, name in enumerate(part.algorithms)}
    parts = [part.name for part in PARTS]
    known = [key for key in held if key[:2] in order]
    return [held[key] for key in sorted(known, key=lambda key: (parts.index(key[0]), order[key[:2]], key[2]))]


def read_rows(path: Path) -> list[Row]:
    """The rows of a table; none if there is no table yet."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write them."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


INTRODUCTION = """# The paper's tables

Written by `make results` from [paper.csv](paper.csv), which has a row for every run with its revision and machine.
Presets `tuned`.

**Evaluated** is the mean of the best elite over 20 fresh starts that it was not chosen by, **stored** the episode that
it was kept for, which is optimistic. Both are interquartile means over seeds; in brackets a bootstrap interval (95 %).
**The paper** has medians of 5 seeds ± half the interquartile range, after 10⁶ steps on point-maze and 10⁸ on the ants:
on the ants nothing here has its budget. Its evolution strategies are those of Colas et al. (2020), which had some
10¹⁰ steps. Seconds are wall time on one core.
"""


FIGURES = """## Figures, and the other tables

| the paper | here |
|---|---|
| Figure 3 and the gradient maps: tasks, and where the reward pulls | [Tasks](../tasks.md); `qdpg tasks --draw DIRECTORY` |
| learning curves, ablations, coverage maps, final grids | `qdpg report runs/results/PART`; of earlier runs with other budgets: [point-maze](point-maze/report.md), [ant-trap](ant-trap/report.md), [ant-maze](ant-maze/report.md) |
| adaptation: trials, and the map of performance | [point-maze](point-maze/adaptation.md), [ant-maze](ant-maze/README.md); `qdpg adapt RUN` |
| Table 3: settings | [all settings](../from-code/settings.md), preset `paper` |
| Table 4: summary of algorithms | `qdpg algorithms` |
"""  # noqa: E501


def write_page(rows: Sequence[Row]) -> str:
    """The page."""
    return "\n".join([INTRODUCTION, *(line for part in PARTS for line in write_part(part, rows)), FIGURES])


def write_part(part: Part, rows: Sequence[Row]) -> list[str]:
    """Its table, and what is missing."""
    own = {
        name: [row for row in rows if (row["part"], row["algorithm"]) == (part.name, name)] for name in part.algorithms
    }
    done, wanted = sum(map(len, own.values())), part.seeds * len(part.algorithms)
    lines = [f"## {part.title}", "", f"{done} of {plural(wanted, 'run')}, {part.steps:,} steps each:", ""]
    lines += [f"    qdpg {' '.join(part.command())}", ""]
    if done:
        lines += [
            "| algorithm | evaluated | stored | the paper | seeds | s per run | MB |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        lines += [write_line(part, name, own[name]) for name in part.algorithms if own[name]]
        lines.append("")
    missing = {name: part.seeds - len(own[name]) for name in part.algorithms if len(own[name]) < part.seeds}
    if missing:
        costs = {name: number * seconds_of(part, name, own[name]) for name, number in missing.items()}
        runs = ", ".join(f"{number} of `{name}`" for name, number in missing.items())
        unknown = [f"`{name}`" for name, seconds in costs.items() if math.isnan(seconds)]
        hours = sum(seconds for seconds in costs.values() if not math.isnan(seconds)) / 3600
        also = f" Not measured: {', '.join(unknown)}." if unknown else ""
        cost = "" if len(unknown) == len(costs) else f" On one core that takes some {hours:.1f} hours."
        lines += [f"Missing: {runs if done else 'all runs'}.{cost}{also}", ""]
    return lines


def write_line(part: Part, name: str, own: Sequence[Row]) -> str:
    """One row of a table."""
    printed = paper.FINAL[part.task].get(name)
    theirs = f"{printed.median:g} ± {printed.spread:g}".replace("-", "−") if printed else "–"
    shown = [with_interval([float(row[column]) for row in own]) for column in ("evaluated", "stored")]
    costs = [f"{median(float(row[column]) for row in own):,.0f}" for column in ("seconds", "memory_mb")]
    return f"| `{name}` | {' | '.join([*shown, theirs, str(len(own)), *costs])} |"


def with_interval(scores: Sequence[float]) -> str:
    """The interquartile mean of scores; from three on with its interval."""
    if len(scores) < 3:
        value = interquartile_mean(np.array(scores))
        return f"{value:,.1f}".replace("-", "−")
    middle, low, high = bootstrap_interval([scores])
    return f"{middle:,.1f} ({low:,.1f} to {high:,.1f})".replace("-", "−")


def seconds_of(part: Part, name: str, own: Sequence[Row]) -> float:
    """How long a run takes, by those that are there, or else by an earlier measurement; NaN if there is none."""
    if own:
        return median(float(row["seconds"]) for row in own)
    earlier = CSV.parent / part.task / "tables" / f"{part.task}-time-and-memory.csv"
    speeds = {row["algorithm"]: float(row["steps_per_second"]) for row in read_rows(earlier)}
    return part.steps / speeds[name] if name in speeds else math.nan


if __name__ == "__main__":
    main()
