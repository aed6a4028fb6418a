"""Logs that grow by rows: CSV for good, TensorBoard for a look."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tensorboardX import SummaryWriter

from qdpg.errors import UserError

_TAIL = 2**16  # bytes at the end of a log that surely hold a whole row


class CsvLog:
    """A CSV file with a fixed header. Numbers are written so that reading them back gives the same bits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._columns: list[str] | None = None
        if path.exists():
            with path.open(newline="") as file:
                self._columns = next(csv.reader(file), None)

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows; the first ever decides the columns."""
        if not rows:
            return
        with self.path.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if self._columns is None:
                self._columns = list(rows[0])
                writer.writerow(self._columns)
            for row in rows:
                writer.writerow([_plain(row[column]) for column in self._columns])

    def sync(self) -> int:
        """Make sure that all rows are on disk; return the file's length in bytes."""
        if not self.path.exists():
            return 0
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
        return self.path.stat().st_size

    def truncate(self, length: int) -> None:
        """Forget all that was written after the file was `length` bytes long."""
        held = self.path.stat().st_size if self.path.exists() else 0
        if held < length:
            raise UserError(f"{self.path} is {held} bytes long, but its checkpoint knew {length}; restore the file.")
        if held > length:
            os.truncate(self.path, length)
        if length == 0:
            self.path.unlink(missing_ok=True)
            self._columns = None


def _plain(value: Any) -> Any:
    """NumPy scalars as Python's, whose text form is exact."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, bool) else value


def read_csv(path: Path) -> dict[str, np.ndarray]:
    """Read a log as columns [rows] of float64 by name; an empty cell is not-a-number.

    Raises:
        UserError: The file is not there or cannot be read.
    """
    try:
        with path.open(newline="") as file:
            # A run that is being trained may be half-way through its last line.
            rows = list(csv.reader(line for line in file if line.endswith("\n")))
        if not rows:
            raise FileNotFoundError
        columns = rows[0]
        table = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows[1:]])
        table = table.reshape(-1, len(columns))
    except FileNotFoundError:
        raise UserError(
            f"{path} is missing or empty; the run has not finished a generation, or the file was removed."
        ) from None
    except ValueError as error:
        raise UserError(f"{path} is not a table of numbers: {error}.") from error
    return {column: table[:, i] for i, column in enumerate(columns)}


def read_last_row(path: Path) -> dict[str, float] | None:
    """The newest complete row of a log by column, without reading all of it; None if there is none yet."""
    try:
        with path.open("rb") as file:
            header = file.readline()
            size = file.seek(0, os.SEEK_END)
            start = file.seek(max(len(header), size - _TAIL))
            lines = file.read().split(b"\n")[:-1]  # what follows the last line's end is being written
        # If the tail begins inside a row, its first line is only a part of one.
        rows = lines if start == len(header) else lines[1:]
        cells = zip(header.decode().split(","), rows[-1].decode().split(","), strict=True)
        return {name.strip(): float(cell) if cell else np.nan for name, cell in cells}
    except (OSError, ValueError, IndexError):  # not there, or cut off by a run that is being taken up again
        return None


class TensorBoardLog:
    """Scalars for TensorBoard; what a resumed run repeats replaces what was there."""

    def __init__(self, directory: Path, steps: int) -> None:
        self._writer = SummaryWriter(str(directory), purge_step=steps if steps else None, write_to_disk=True)

    def append(self, prefix: str, row: Mapping[str, Any], steps: int) -> None:
        """Write the numbers of `row` at `steps`."""
        for name, value in row.items():
            if isinstance(value, int | float | np.generic) and np.isfinite(value):
                self._writer.add_scalar(f"{prefix}/{name}", value, steps)

    def close(self) -> None:
        """Write out what is waiting."""
        self._writer.close()
