"""What a comparison writes beside its runs: what was asked for, and which runs failed.

compare.json     the matrix, versions, when it began
failures.json    runs whose last attempt failed: error, exit code, log
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qdpg.errors import UserError
from qdpg.matrix.matrix import Matrix, PlannedRun, make_matrix
from qdpg.runs.files import read_json
from qdpg.runs.records import DIGEST, parse, read_sealed, write_record
from qdpg.runs.software import describe_software

FORMAT = 2
OLD_FORMAT = 1  # without digests


@dataclass(frozen=True)
class Failure:
    """A run whose last attempt failed. Paths are relative to the comparison's directory."""

    run: str
    error: str
    exit_code: int | None  # None if no process was started; negative if a signal killed it
    log: str
    time: str


@dataclass(frozen=True)
class _Failed:
    """What `failures.json` holds."""

    format: int
    failures: list[Failure]


def read_matrix(out: Path) -> Matrix | None:
    """What the comparison in `out` was asked for; None if there is no comparison yet.

    Raises:
        UserError: The file cannot be used.
    """
    if not os.path.lexists(out / "compare.json"):
        return None
    path = out / "compare.json"
    data = _read(path)
    names = [field.name for field in dataclasses.fields(Matrix)]
    asked = parse(Matrix, {name: data[name] for name in names if name in data}, str(path))
    return make_matrix(**vars(asked))


def write_matrix(out: Path, matrix: Matrix) -> None:
    """Write down what is asked for; what the file said about the beginning stays."""
    path = out / "compare.json"
    began = _read(path) if os.path.lexists(path) else {}
    asked = dataclasses.asdict(matrix)
    about = {"versions": began.get("versions") or describe_software(), "started": began.get("started") or _now()}
    write_record(path, {"format": FORMAT, **asked, **about})


class Failures:
    """The record of failed runs, on disk at every moment."""

    def __init__(self, out: Path) -> None:
        self._out, self._path = out, out / "failures.json"
        found = _read(self._path) if os.path.lexists(self._path) else {"format": FORMAT, "failures": []}
        self._failures = {failure.run: failure for failure in parse(_Failed, found, str(self._path)).failures}

    def add(self, run: PlannedRun, error: str, exit_code: int | None) -> Failure:
        """Record that `run` failed."""
        name = self._relative(run.path)
        self._failures[name] = failure = Failure(name, error, exit_code, self._relative(run.log), _now())
        self._write()
        return failure

    def remove(self, run: PlannedRun) -> None:
        """Record that `run` has not failed, if it had before."""
        if self._failures.pop(self._relative(run.path), None) is not None:
            self._write()

    def all(self) -> list[Failure]:
        """All of them, in the order of their names."""
        return [self._failures[name] for name in sorted(self._failures)]

    def _relative(self, path: Path) -> str:
        return path.relative_to(self._out).as_posix()

    def _write(self) -> None:
        write_record(self._path, {"format": FORMAT, "failures": [dataclasses.asdict(f) for f in self.all()]})


def _read(path: Path) -> dict[str, Any]:
    data = read_json(path)
    if data.get("format") != OLD_FORMAT or DIGEST in data:
        data = read_sealed(path)
        if (found := data.get("format")) != FORMAT:
            raise UserError(f"{path} has format {found!r:.40}, but this version of qdpg reads format {FORMAT}.")
    return data


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
