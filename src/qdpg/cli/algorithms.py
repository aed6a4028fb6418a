"""`qdpg algorithms`: what there is."""

from __future__ import annotations

import json

from rich.console import Console
from rich.table import Table

from qdpg.algorithms.registry import ALGORITHMS


def run(as_json: bool) -> int:
    """Print the algorithms with the columns of the paper's summary."""
    if as_json:
        print(json.dumps({name: entry.summary() for name, entry in ALGORITHMS.items()}))
        return 0
    columns = ("quality gradient", "diversity gradient", "quality selection", "diversity selection", "collection")
    table = Table("algorithm", "", *columns)
    for name, entry in ALGORITHMS.items():
        title, *marks = entry.summary().values()
        table.add_row(name, str(title), *("✓" if mark else "–" for mark in marks))
    Console().print(table)
    return 0
