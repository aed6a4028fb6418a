"""A table as people read it (HTML, Markdown) and as programs do (CSV)."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: What its file is called.
        title: What stands above it.
        columns: Heads.
        rows: Texts, one per head.
        records: The same for programs: plain numbers by name; what is not known is left empty.
        notes: Sentences that explain it.
        words: Columns of words, which are set flush left like the first one.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    records: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    words: frozenset[str] = field(default_factory=frozenset)

    def is_text(self, column: int) -> bool:
        """Whether a column is set flush left."""
        return column == 0 or self.columns[column] in self.words


def to_csv(table: Table) -> str:
    """Write the records; numbers so that reading them gives the same bits."""
    text = io.StringIO()
    names = list(dict.fromkeys(name for record in table.records for name in record))
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    for record in table.records:
        writer.writerow({name: _plain(value) for name, value in record.items()})
    return text.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(("=", "@", "+", "-", "\t", "\r")):
        return f"'{value}"  # a spreadsheet would take it for a formula
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def to_markdown(table: Table) -> str:
    """Write the table and its notes, without its title."""
    rule = ["---" if table.is_text(i) else "---:" for i in range(len(table.columns))]
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in [table.columns, rule, *table.rows]]
    return "\n".join([*lines, *(f"\n{escape_markdown(note)}" for note in table.notes)]) + "\n"


def _cell(text: str) -> str:
    return escape_markdown(text).replace("|", "\\|")


def escape_markdown(text: str) -> str:
    """Make sure that `text` is read as it is, on one line."""
    text = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>" else letter for letter in text)


def to_html(table: Table) -> str:
    """Write the table and its notes, without its title."""
    kinds = ['class="words"' if table.is_text(i) else 'class="number"' for i in range(len(table.columns))]
    head = "".join(f"<th {kind}>{html.escape(name)}</th>" for kind, name in zip(kinds, table.columns, strict=True))
    body = "\n".join(
        "<tr>"
        + "".join(f"<td {kind}>{html.escape(text)}</td>" for kind, text in zip(kinds, row, strict=True))
        + "</tr>"
        for row in table.rows
    )
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in table.notes)
    return (
        f'<div class="table"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>\n'
        f'<div class="notes">{notes}</div>'
    )
