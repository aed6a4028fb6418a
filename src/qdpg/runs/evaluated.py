"""What `qdpg evaluate` found about a collection: files beside it, which hold for these policies only."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from qdpg.errors import DamagedError
from qdpg.ranges import Number, Share
from qdpg.runs.files import checksum, read_json, write_bytes
from qdpg.runs.logs import check_finite, read_csv
from qdpg.runs.records import DIGEST, Length, Written, parse, read_sealed, write_record

ARRAYS, ABOUT = "elites.safetensors", "elites.json"
EVALUATED, EVALUATED_ABOUT = "evaluated.csv", "evaluated.json"
FORMAT = 2  # of all JSON files here
OLD_FORMAT = 1  # without digests


@dataclass(frozen=True)
class _Score:
    """An archive in numbers."""

    qd_score: Number
    cells: Length
    coverage: Share
    best: Number


@dataclass(frozen=True)
class _Best:
    """The best elite, from starts that it was not chosen by."""

    cell: Length
    mean: Number
    lower_quartile: Number
    median: Number
    upper_quartile: Number
    share_solved: Share | None
    mean_when_chosen: Number
    stored_fitness: Number


@dataclass(frozen=True)
class _Evaluated:
    """What `evaluated.json` holds; a collection that was saved on its own has only what its table says."""

    format: int
    elites_sha256: str
    elites: Length
    episodes: Length
    tables: dict[str, Written] = field(default_factory=dict)
    episodes_wanted: Length = 0
    seed: Length = 0
    complete: bool = False
    steps: Length = 0
    corrected: _Score | None = None
    stored: _Score | None = None
    loss: dict[str, float] = field(default_factory=dict)  # not-a-number if there was nothing to lose
    share_own_cell: Share = 0.0
    spread: Number = 0.0
    best: _Best | None = None
    software: dict[str, Any] = field(default_factory=dict)


_OF_RUN = ("episodes_wanted", "complete", "corrected", "stored", "share_own_cell", "best")  # once there are episodes


def read_evaluated_about(directory: Path) -> dict[str, Any] | None:
    """What the last `qdpg evaluate` says about all elites of a run; None if it was about others, or never.

    Raises:
        UserError: It is damaged.
    """
    about = _read_about(directory)
    if about is not None and about["episodes"] and (missing := [name for name in _OF_RUN if name not in about]):
        raise DamagedError(f"{directory / EVALUATED_ABOUT} is damaged: {missing[0]!r} is missing.")
    return about


def _read_about(directory: Path) -> dict[str, Any] | None:
    path = directory / EVALUATED_ABOUT
    if not os.path.lexists(path):
        return None
    about = read_json(path)
    if about.get("format") != OLD_FORMAT or DIGEST in about:
        about = read_sealed(path)
    found = parse(_Evaluated, about, str(path))
    return about if found.elites_sha256 == checksum(directory / ARRAYS) else None


def read_evaluated(directory: Path, policies: int, descriptors: Sequence[str]) -> dict[str, np.ndarray] | None:
    """What it says about each of them, by column; None if there is nothing yet.

    Args:
        directory: Where the collection is.
        policies: How many there are.
        descriptors: Names of the descriptors.

    Raises:
        UserError: It is damaged.
    """
    about, path = _read_about(directory), directory / EVALUATED
    if about is None or not about["episodes"] or not (os.path.lexists(path) or "tables" in about):
        return None
    if written := about.get("tables", {}).get(EVALUATED):
        parse(Written, written, str(directory / EVALUATED_ABOUT)).check(path)
    table = read_csv(path)
    needed = ["mean", *(f"mean_{name}" for name in descriptors)]
    if missing := [name for name in needed if name not in table or len(table[name]) != policies]:
        raise DamagedError(f"{path} is damaged: it has no column {missing[0]!r} of {policies} policies.")
    check_finite(table, needed, path)
    return table


def write_table(path: Path, columns: Mapping[str, np.ndarray]) -> Written:
    """Write columns as a CSV file, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    content = text.getvalue().encode()
    write_bytes(path, content)
    return Written(len(content), hashlib.sha256(content).hexdigest())


def write_evaluated(directory: Path, evaluated: Mapping[str, np.ndarray]) -> None:
    """Write what is known about each policy beside a collection that was written before."""
    written = write_table(directory / EVALUATED, evaluated)
    about = {
        "format": FORMAT,
        "elites_sha256": checksum(directory / ARRAYS),
        "elites": len(evaluated["mean"]),
        "episodes": int(evaluated["episodes"].max(initial=0)),
        "tables": {EVALUATED: dataclasses.asdict(written)},
    }
    write_record(directory / EVALUATED_ABOUT, about)
