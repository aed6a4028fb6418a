"""`plot`: the figures of one run."""

from __future__ import annotations

from pathlib import Path

from qdpg.errors import UserError
from qdpg.report.figures import FigureFormat, save_figure
from qdpg.report.run_figures import draw_coverage, draw_grid, draw_learning_curve, draw_trajectories
from qdpg.runs.run import Run, load_run


def plot(
    run: Run | Path | str,
    format: FigureFormat = "png",  # noqa: A002 (as it is called on the command line)
    out: Path | str | None = None,
) -> list[Path]:
    """Draw the grid, the learning curve, the coverage map and the elites' trajectories.

    Args:
        run: The run, or its directory.
        format: Of the files: "png", "svg" or "pdf".
        out: Directory for the figures; by default figures/ in the run.

    Returns:
        The files.

    Raises:
        UserError: There is no run, it has not finished a generation, or the figures cannot be written.

    Examples:
        >>> import qdpg
        >>> sorted(path.name for path in qdpg.plot("runs/doc", "svg"))
        ['coverage.svg', 'grid.svg', 'learning-curve.svg', 'trajectories.svg']
    """
    run = run if isinstance(run, Run) else load_run(run)
    task, metrics, episodes, elites = run.task, run.metrics(), run.episodes(), run.elites
    if not len(metrics.get("steps", ())) or not len(elites):
        raise UserError(f"{run.path} has not finished a generation yet; there is nothing to draw.")
    is_evaluated = elites.evaluated is not None
    figures = {
        "grid": draw_grid(task.spec, elites.archive(is_evaluated), "from fresh starts")
        if is_evaluated
        else draw_grid(task.spec, elites.archive()),
        "learning-curve": draw_learning_curve(task.spec, metrics, run.evaluations()),
        "coverage": draw_coverage(task.spec, episodes),
        "trajectories": draw_trajectories(task, elites),
    }
    directory = run.path / "figures" if out is None else Path(out)
    try:
        return [save_figure(figure, directory / f"{name}.{format}") for name, figure in figures.items()]
    except OSError as error:
        raise UserError(f"cannot write figures to {directory}: {error.strerror or error}.") from error
