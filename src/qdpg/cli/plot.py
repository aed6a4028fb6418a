"""`qdpg plot`: the figures of a run."""

from __future__ import annotations

from pathlib import Path

from qdpg.compiled import cache_compiled_programs
from qdpg.report.figures import FigureFormat
from qdpg.report.plot import plot
from qdpg.runs.run import load_run
from qdpg.terminal import make_console


def run(path: Path, quiet: bool, trust: bool = False, kind: FigureFormat = "png") -> int:
    """Draw the run's figures into its `figures/`.

    Args:
        path: Directory of the run.
        quiet: Do not print the figures' paths.
        trust: Import code that the run names.
        kind: Format of the files.

    Returns:
        The exit status, 0.

    Raises:
        UserError: There is no run, it has not finished a generation, or the figures cannot be written.
    """
    cache_compiled_programs()
    with make_console(quiet=quiet).status("playing the elites again"):
        paths = plot(load_run(path, trust), kind)
    if not quiet:
        print(*paths, sep="\n")  # not by rich, which would break long paths
    return 0
