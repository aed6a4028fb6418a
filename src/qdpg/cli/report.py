"""`qdpg report`: tables, figures and one offline page from any set of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from qdpg.errors import UserError
from qdpg.report.figures import FigureFormat
from qdpg.report.write import write_report
from qdpg.terminal import make_console


def run(directories: Sequence[Path], out: Path | None, quiet: bool, kind: FigureFormat = "png") -> int:
    """Write the report about all runs beneath `directories`.

    Args:
        directories: Where to look for runs.
        out: Where to write; `report/` in the first directory unless told.
        quiet: Do not print the page's path.
        kind: Also write figures in this format.

    Returns:
        The exit status, 0.

    Raises:
        UserError: There is nothing to report, or the report cannot be written.
    """
    if not directories:
        raise UserError("name at least one directory that holds runs.")
    out = out or directories[0] / "report"
    if out.is_symlink():
        raise UserError(f"{out} is a link; choose another --out.")
    console = make_console(quiet=quiet)
    with console.status("reading runs") as status:
        page = write_report(directories, out, status.update, [] if kind == "png" else [kind])
    if not quiet:
        print(page)  # not by rich, which would break long paths
    return 0
