"""`qdpg plot`: the figures of a run."""

from __future__ import annotations

from pathlib import Path

from qdpg.compiled import cache_compiled_programs
from qdpg.errors import UserError
from qdpg.report.figures import FigureFormat, save_figure
from qdpg.report.run_figures import draw_coverage, draw_grid, draw_learning_curve, draw_trajectories
from qdpg.report.words import plural
from qdpg.runs.run import load_run
from qdpg.terminal import make_console


def run(path: Path, quiet: bool, trust: bool = False, kind: FigureFormat = "png") -> int:
    """Draw the grid, the learning curve, the coverage map and the elites' trajectories into the run's `figures/`.

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
    found = load_run(path, trust)
    task, metrics, episodes, elites = found.task, found.metrics(), found.episodes(), found.elites
    if not len(metrics.get("steps", ())) or not len(elites):
        raise UserError(f"{path} has not finished a generation yet; there is nothing to draw.")
    is_evaluated = elites.evaluated is not None
    with make_console(quiet=quiet).status(f"playing {plural(len(elites), 'elite')} again"):
        figures = {
            "grid": draw_grid(task.spec, elites.archive(is_evaluated), "from fresh starts")
            if is_evaluated
            else draw_grid(task.spec, elites.archive()),
            "learning-curve": draw_learning_curve(task.spec, metrics, found.evaluations()),
            "coverage": draw_coverage(task.spec, episodes),
            "trajectories": draw_trajectories(task, elites),
        }
    try:
        paths = [save_figure(figure, path / "figures" / f"{name}.{kind}") for name, figure in figures.items()]
    except OSError as error:
        raise UserError(f"cannot write figures to {path / 'figures'}: {error.strerror or error}.") from error
    if not quiet:
        print(*paths, sep="\n")  # not by rich, which would break long paths
    return 0
