"""`qdpg algorithms`: what there is."""

from __future__ import annotations

import json

from rich.box import SIMPLE_HEAD
from rich.table import Table

from qdpg.algorithms.registry import ALGORITHMS
from qdpg.plugins import find_plugins
from qdpg.terminal import make_console


def run(as_json: bool) -> int:
    """Print the algorithms with the columns of the paper's summary."""
    plugins = {name: each for name, each in find_plugins("qdpg.algorithms").items() if name not in ALGORITHMS}
    if as_json:
        offered = {name: {"title": f"from {each.package}"} for name, each in plugins.items()}
        print(json.dumps({name: entry.summary() for name, entry in ALGORITHMS.items()} | offered))
        return 0
    # Narrow enough, with the longest title, for a terminal of 80 columns.
    table = Table("algorithm", "", "Q∇", "D∇", "Q", "D", "C", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.caption = "Q∇, D∇: gradient of quality, of diversity. Q, D: selection by them. C: hands over a collection."
    for name, entry in ALGORITHMS.items():
        title, *marks = entry.summary().values()
        table.add_row(name, str(title), *("✓" if mark else "–" for mark in marks))
    for name, each in plugins.items():
        table.add_row(name, f"from {each.package}")
    console = make_console()
    console.print(table)
    console.print("module:Class  an algorithm in your own Python file (docs/extending.md)")
    return 0
