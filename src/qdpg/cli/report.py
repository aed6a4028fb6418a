"""`qdpg report`: tables, figures and one offline page from any set of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from qdpg.errors import UserError
from qdpg.report.write import write_report


def run(directories: Sequence[Path], out: Path | None, quiet: bool) -> int:
    """Write the report about all runs beneath `directories`.

    Args:
        directories: Where to look for runs.
        out: Where to write; `report/` in the first directory unless told.
        quiet: Do not print the page's path.

    Returns:
        The exit status, 0.

    Raises:
        UserError: There is nothing to report, a run cannot be read, or the report cannot be written.
    """
    if not directories:
        raise UserError("name at least one directory that holds runs.")
    console = Console(quiet=quiet)
    with console.status("reading runs") as status:
        page = write_report(directories, out or directories[0] / "report", status.update)
    if not quiet:
        print(page)  # not by rich, which would break long paths
    return 0
