"""The rows behind the paper's tables: which runs belong to which table, and what is remembered of each."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from qdpg.algorithms.registry import config_from_json, config_to_json, make_config
from qdpg.errors import UserError
from qdpg.report import paper
from qdpg.report.gather import gather
from qdpg.report.result import Result

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "results"
CSV = ROOT / "docs" / "results" / "paper.csv"
TABLE_1 = tuple(paper.FINAL["point-maze"])  # in the paper's order
OTHERS = ("dc-qd-pg", "dcrl-me", "map-elites")
Row = dict[str, str]


PATIENCE = ("--evaluate-seconds", "1800")  # two minutes are too few for twenty episodes of fifty ants


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
        return ["compare", *asked, "--steps", str(self.steps), "--threads", "1", *PATIENCE, "--out", place]


EVOLUTION = ("cvt-map-elites", "cma-mae", "me-es", "ns-es", "nsr-es", "nsra-es")
PARTS = (
    Part("point-maze", "Table 1, point-maze", "point-maze", (*TABLE_1, *OTHERS, *EVOLUTION), paper.SEEDS, 10**6),
    Part("ant-trap", "Table 1, ant-trap", "ant-trap", (*TABLE_1, *OTHERS), 3, 10**6),
    Part("ant-maze", "Table 1, ant-maze", "ant-maze", (*TABLE_1, *OTHERS), 3, 10**6),
    Part("ant-maze-evolution", "Table 2, ant-maze", "ant-maze", ("me-es", "nsr-es", "nsra-es"), 3, 10**7),
)
COLUMNS = (
    *("part", "algorithm", "seed", "steps", "evaluated", "stored", "final", "solved_after"),
    *("corrected_qd_score", "own_cell", "coverage"),
    *("seconds", "memory_mb", "qdpg", "revision", "machine", "started"),
)


def collect(runs: Path, parts: Sequence[Part] | None = None) -> list[Row]:
    """A row for each run that is finished, evaluated, of committed code, and belongs to one of these parts, or any."""
    found = []
    for part in PARTS if parts is None else parts:
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
    is_done = result.is_finished and math.isfinite(result.evaluated_best)
    if not (is_asked_for and is_known and is_done):
        return False
    played = config_from_json(config["algorithm"], config["config"])  # with settings that have come since
    return as_written(played) == settings_of_today(part, config["algorithm"])


def settings_of_today(part: Part, algorithm: str) -> dict[str, Any]:
    """The preset as a run writes it down: one that was begun with other settings is no row of the table."""
    return as_written(make_config(algorithm, "tuned", part.task, {}))


def as_written(config: Any) -> dict[str, Any]:
    """Settings as `config.json` has them."""
    return json.loads(json.dumps(config_to_json(config)))


def make_row(part: Part, result: Result) -> Row:
    """What is remembered of a run."""
    config, manifest = result.run.config, result.run.manifest
    numbers = {
        "evaluated": result.evaluated_best,
        "stored": result.best_elite,
        "final": result.final,
        "solved_after": result.steps_to_solved,
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
