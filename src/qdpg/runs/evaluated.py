"""What `qdpg evaluate` found about a collection: files beside it, which hold for these policies only."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qdpg.errors import DamagedError
from qdpg.runs.files import checksum, read_json, write_bytes
from qdpg.runs.logs import read_csv
from qdpg.runs.records import DIGEST, Written, parse, read_sealed, write_record

ARRAYS, ABOUT = "elites.safetensors", "elites.json"
EVALUATED, EVALUATED_ABOUT = "evaluated.csv", "evaluated.json"
FORMAT = 2  # of all JSON files here
OLD_FORMAT = 1  # without digests


def read_evaluated_about(directory: Path) -> dict[str, Any] | None:
    """What the last `qdpg evaluate` says about all policies of a collection; None if it was about others, or never.

    Raises:
        UserError: It is damaged.
    """
    path = directory / EVALUATED_ABOUT
    if not os.path.lexists(path):
        return None
    about = read_json(path)
    if about.get("format") != OLD_FORMAT or DIGEST in about:
        about = read_sealed(path)
    return about if about.get("elites_sha256") == checksum(directory / ARRAYS) else None


def read_evaluated(directory: Path, policies: int, descriptors: Sequence[str]) -> dict[str, np.ndarray] | None:
    """What it says about each of them, by column; None if there is nothing yet.

    Args:
        directory: Where the collection is.
        policies: How many there are.
        descriptors: Names of the descriptors.

    Raises:
        UserError: It is damaged.
    """
    about, path = read_evaluated_about(directory), directory / EVALUATED
    if about is None or not about.get("episodes") or not (os.path.lexists(path) or "tables" in about):
        return None
    if written := about.get("tables", {}).get(EVALUATED):
        parse(Written, written, str(directory / EVALUATED_ABOUT)).check(path)
    table = read_csv(path)
    needed = ["mean", *(f"mean_{name}" for name in descriptors)]
    if missing := [name for name in needed if name not in table or len(table[name]) != policies]:
        raise DamagedError(f"{path} is damaged: it has no column {missing[0]!r} of {policies} policies.")
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
