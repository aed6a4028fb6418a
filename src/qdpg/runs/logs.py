"""Logs that grow by rows: CSV."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qdpg.errors import DamagedError, MissingError, UserError
from qdpg.runs.files import open_file, read_bytes
from qdpg.runs.records import Written
from qdpg.terminal import is_printable

_MOST = 1e30  # of any number in a table
_TAIL = 2**16  # bytes at the end of a log that surely hold a whole row


class CsvLog:
    """A CSV file with a fixed header. Numbers are written so that reading them back gives the same bits."""

    def __init__(self, path: Path, written: Written | None = None) -> None:
        """Take up a log; nothing is changed before `cut`.

        Args:
            path: Where it is, or will be.
            written: How much of it counts; if None, all of it.

        Raises:
            UserError: The file does not begin with what was written.
        """
        self.path = path
        if written is not None:
            written.check(path)
        content = read_bytes(path) if os.path.lexists(path) else b""
        content = content if written is None else content[: written.length]
        self._columns = next(csv.reader([content.decode(errors="replace").partition("\n")[0]])) if content else None
        self._length, self._digest = len(content), hashlib.sha256(content)

    def cut(self) -> None:
        """Forget all in the file that does not count."""
        if not os.path.lexists(self.path):
            return
        if not self._length:
            self.path.unlink()
        elif self.path.stat().st_size > self._length:
            handle = open_file(self.path, os.O_WRONLY)
            os.ftruncate(handle, self._length)
            os.close(handle)

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows; the first ever decides the columns."""
        if not rows:
            return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self._columns is None:
            self._columns = list(rows[0])
            writer.writerow(self._columns)
        for row in rows:
            writer.writerow([_plain(row[column]) for column in self._columns])
        content = text.getvalue().encode()
        with os.fdopen(open_file(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as file:
            file.write(content)
        self._length += len(content)
        self._digest.update(content)

    def sync(self) -> Written:
        """Make sure that all rows are on disk; return what the file now holds."""
        if self._length:
            handle = open_file(self.path)
            os.fsync(handle)
            os.close(handle)
        return Written(self._length, self._digest.hexdigest())


def _plain(value: Any) -> Any:
    """NumPy scalars as Python's, whose text form is exact."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, bool) else value


class Table(dict[str, np.ndarray]):
    """Columns by name."""

    def to_pandas(self) -> Any:
        """Return it as a pandas DataFrame.

        Raises:
            UserError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise UserError("this needs pandas; install it with `pip install pandas`.") from error
        return pandas.DataFrame(self)


def read_csv(path: Path) -> Table:
    """Read a log as columns [rows] of float64 by name; an empty cell is not-a-number.

    Raises:
        UserError: The file is not there or cannot be read.
    """
    try:
        text = read_bytes(path).decode()
        # A run that is being trained may be half-way through its last line.
        rows = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1], newline="")))
    except MissingError:
        rows = []
    except (ValueError, csv.Error) as error:
        raise DamagedError(f"{path} is not a table of numbers: {error}.") from error
    if not rows:
        raise MissingError(
            f"{path} is missing or empty; the run has not finished a generation, or the file was removed."
        )
    columns = rows[0]
    if not columns or len(set(columns)) != len(columns) or not all(name and is_printable(name) for name in columns):
        raise DamagedError(f"{path} is not a table of numbers: its columns have no proper names.")
    if uneven := next((n for n, row in enumerate(rows[1:], start=2) if len(row) != len(columns)), None):
        raise DamagedError(
            f"{path} is not a table of numbers: line {uneven} has {len(rows[uneven - 1])} cells, not {len(columns)}."
        )
    try:
        table = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows[1:]])
    except ValueError as error:
        raise DamagedError(f"{path} is not a table of numbers: {error}.") from error
    table = table.reshape(-1, len(columns))
    return Table({column: table[:, i] for i, column in enumerate(columns)})


def check_finite(table: Mapping[str, np.ndarray], columns: Iterable[str], path: Path) -> None:
    """Refuse a table that lacks one of `columns`, or does not know a number in it.

    Raises:
        DamagedError: It does.
    """
    for name in columns:
        if name not in table:
            raise DamagedError(f"{path} is damaged: it has no column {name!r}.")
        if not (np.abs(table[name]) < _MOST).all():
            raise DamagedError(f"{path} is damaged: in column {name!r} is a number that is not finite or too large.")


def read_last_row(path: Path) -> dict[str, float] | None:
    """The newest complete row of a log by column, without reading all of it; None if there is none yet."""
    try:
        with os.fdopen(open_file(path), "rb") as file:
            header = file.readline()
            size = file.seek(0, os.SEEK_END)
            start = file.seek(max(len(header), size - _TAIL))
            lines = file.read().split(b"\n")[:-1]  # what follows the last line's end is being written
        # If the tail begins inside a row, its first line is only a part of one.
        rows = lines if start == len(header) else lines[1:]
        cells = zip(header.decode().split(","), rows[-1].decode().split(","), strict=True)
        return {name.strip(): float(cell) if cell else np.nan for name, cell in cells}
    except (OSError, MissingError, DamagedError, ValueError, IndexError):  # not there, or just being cut off
        return None
