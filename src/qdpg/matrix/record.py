"""What a comparison writes beside its runs: what was asked for, and which runs failed.

compare.json     the matrix, versions, when it began
failures.json    runs whose last attempt failed: error, exit code, log
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qdpg.errors import UserError
from qdpg.matrix.matrix import Matrix, PlannedRun, make_matrix
from qdpg.runs.files import write_json
from qdpg.runs.run import describe_software

FORMAT = 1


@dataclass(frozen=True)
class Failure:
    """A run whose last attempt failed. Paths are relative to the comparison's directory."""

    run: str
    error: str
    exit_code: int | None  # None if no process was started; negative if a signal killed it
    log: str
    time: str


def read_matrix(out: Path) -> Matrix | None:
    """What the comparison in `out` was asked for; None if there is no comparison yet.

    Raises:
        UserError: The file cannot be used.
    """
    if not (out / "compare.json").exists():
        return None
    data = _read(out / "compare.json")
    try:
        return make_matrix(**{field.name: data[field.name] for field in dataclasses.fields(Matrix)})
    except KeyError as error:
        raise UserError(f"{out / 'compare.json'} lacks {error}; restore the file or choose another --out.") from None


def write_matrix(out: Path, matrix: Matrix) -> None:
    """Write down what is asked for; what the file said about the beginning stays."""
    path = out / "compare.json"
    began = _read(path) if path.exists() else {"versions": describe_software(), "started": _now()}
    asked = dataclasses.asdict(matrix)
    write_json(path, {"format": FORMAT, **asked, "versions": began["versions"], "started": began["started"]})


class Failures:
    """The record of failed runs, on disk at every moment."""

    def __init__(self, out: Path) -> None:
        self._out, self._path = out, out / "failures.json"
        entries = _read(self._path)["failures"] if self._path.exists() else []
        self._failures = {entry["run"]: Failure(**entry) for entry in entries}

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
        write_json(self._path, {"format": FORMAT, "failures": [dataclasses.asdict(f) for f in self.all()]})


def _read(path: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = json.loads(path.read_text())
        found = data.get("format")
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"{path} cannot be read ({error}); restore the file or choose another --out.") from None
    if found != FORMAT:
        raise UserError(f"{path} has format {found}, but this version of qdpg reads format {FORMAT}.")
    return data


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
