"""`qdpg algorithms`: what there is."""

from __future__ import annotations

import json

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from qdpg.algorithms.registry import ALGORITHMS


def run(as_json: bool) -> int:
    """Print the algorithms with the columns of the paper's summary."""
    if as_json:
        print(json.dumps({name: entry.summary() for name, entry in ALGORITHMS.items()}))
        return 0
    # Narrow enough, with the longest title, for a terminal of 80 columns.
    table = Table("algorithm", "", "Q∇", "D∇", "Q", "D", "C", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.caption = "Q∇, D∇: gradient of quality, of diversity. Q, D: selection by them. C: hands over a collection."
    for name, entry in ALGORITHMS.items():
        title, *marks = entry.summary().values()
        table.add_row(name, str(title), *("✓" if mark else "–" for mark in marks))
    Console().print(table)
    return 0
