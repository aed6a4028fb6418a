"""The report: from directories of runs to a page, tables and figures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from qdpg.errors import UserError
from qdpg.report import paper
from qdpg.report.comparison import (
    final_performance,
    interquartile_means,
    is_reduced,
    resources,
    steps_to_goal,
)
from qdpg.report.curves import QUANTITIES, draw_curves
from qdpg.report.figures import FigureFormat, render
from qdpg.report.gather import Findings, TaskResults, gather
from qdpg.report.overview import components, list_failures, list_runs, pooled_scores
from qdpg.report.page import Picture, Section, to_page, to_text
from qdpg.report.panels import draw_coverage_maps, draw_final_grids
from qdpg.report.tables import Table, to_csv
from qdpg.report.words import number, plural
from qdpg.runs.files import check_inside, write_bytes

TITLE = "Quality-diversity policy gradients: results"


def write_report(
    directories: Sequence[Path],
    out: Path,
    say: Callable[[str], None] = lambda sentence: None,
    formats: Sequence[FigureFormat] = (),
) -> Path:
    """Write the report about all runs beneath `directories` into `out` and return the path of the page.

    Nothing is written before everything has been computed.

    Args:
        directories: Where to look for runs.
        out: Gets `report.html`, `report.md`, `tables/` and `figures/`.
        say: Is told what is being done.
        formats: Besides PNG, write figures in these formats.

    Raises:
        UserError: There is nothing to report, a run cannot be read, or `out` cannot be written.
    """
    if out.is_dir():
        check_inside(out)  # a report that came with somebody's runs may lead elsewhere
    findings = gather(directories)
    sections = [_task_section(task, say, formats) for task in findings.tasks]
    sections.append(_last_section(findings))
    paragraphs = _introduction(findings)
    files = {"report.html": to_page(TITLE, paragraphs, sections).encode()}
    files["report.md"] = to_text(TITLE, paragraphs, sections, "figures").encode()
    for section in sections:
        for item in section.items:
            if isinstance(item, Table):
                files[f"tables/{item.name}.csv"] = to_csv(item).encode()
            else:
                files[f"figures/{item.name}.png"] = item.png
                files |= {f"figures/{item.name}.{ending}": content for ending, content in item.others.items()}
    try:
        for name, content in files.items():
            write_bytes(out / name, content)
    except OSError as error:
        raise UserError(f"the report cannot be written to {out}: {error.strerror or error}.") from error
    return out / "report.html"


def _introduction(findings: Findings) -> list[str]:
    variants = [variant for task in findings.tasks for variant in task.variants]
    finished, interrupted = (
        sum(len(variant.results) for variant in variants if variant.is_finished == wanted) for wanted in (True, False)
    )
    tasks, left_out = plural(len(findings.tasks), "task"), len(findings.results) - finished - interrupted
    also = f" and {plural(interrupted, 'interrupted one')}" if interrupted else ""
    titles = ", ".join(task.title for task in findings.tasks)
    paragraphs = [f"{plural(finished, 'finished run')}{also} of {tasks}: {titles}."]
    if left_out:
        paragraphs[0] += f" {plural(left_out, 'run')} left out; the list of runs says why."
    if findings.failures:
        paragraphs[0] += f" {plural(len(findings.failures), 'run')} failed or cannot be read; the errors are listed."
    if not any(task.is_papers for task in findings.tasks):
        return paragraphs
    paragraphs.append(
        "The paper: Pierrot, Macé et al., Diversity Policy Gradient for Sample Efficient Quality-Diversity "
        "Optimization, GECCO 2022. Its numbers are those of its Tables 1 and 2: medians ± half the interquartile range "
        f"over {paper.SEEDS} seeds, after 10⁶ steps on point-maze and 10⁸ on the ants."
    )
    return paragraphs


def _task_section(task: TaskResults, say: Callable[[str], None], formats: Sequence[FigureFormat]) -> Section:
    """Everything about one task."""
    tables = [final_performance(task), steps_to_goal(task), interquartile_means(task), resources(task)]
    prefix = re.sub(r"[^a-z0-9.]+", "-", task.title.lower()).strip("-")
    say(f"drawing {task.title}")
    drawn: dict[str, tuple[str, Figure]] = {
        f"curves-{quantity.name}": (_curve_caption(task, quantity.label), draw_curves(task, quantity))
        for quantity in QUANTITIES
    }
    chosen = "of the run with the median best elite of each algorithm"
    caption = (
        f"Coverage: the behaviour of every recorded training episode, blue early in training, purple late; {chosen}."
    )
    drawn["coverage-maps"] = (caption, draw_coverage_maps(task))
    caption = f"Final grids: the elites' fitness by cell, {chosen}; single-policy methods have one cell."
    drawn["final-grids"] = (caption, draw_final_grids(task))
    pictures = {
        name: Picture(
            f"{prefix}-{name}", caption, render(figure, "png"), {each: render(figure, each) for each in formats}
        )
        for name, (caption, figure) in drawn.items()
    }
    first, second, means, costs = (t and _renamed(t, f"{prefix}-{t.name}") for t in tables)
    items = [first, *(pictures[f"curves-{q.name}"] for q in QUANTITIES), second, means]
    items += [pictures["coverage-maps"], pictures["final-grids"], costs]
    paragraphs = []
    if task.spec.references:
        scores = ", ".join(f"{name} {number(score)}" for name, score in task.spec.references.items())
        paragraphs.append(f"Scores to compare with, drawn as lines in the learning curves: {scores}.")
    if second is None:
        paragraphs.append("The task does not say when it is solved, so there is no table of steps to the goal.")
    return Section(task.title, paragraphs, _warning(task), tuple(item for item in items if item is not None))


def _warning(task: TaskResults) -> str:
    """Say plainly that a budget is not the paper's."""
    reduced = [variant for variant in task.variants if is_reduced(task, variant)]
    if not reduced:
        return ""
    budgets, seeds = {v.budget for v in reduced}, {len(v.results) for v in reduced}
    return (
        f"Not the paper's budget. {_range(budgets)} steps and {_range(seeds)} seeds here, "
        f"{paper.STEPS[task.name]:,} steps and {paper.SEEDS} seeds in the paper; "
        f"{len(reduced)} of {plural(len(task.variants), 'row')} concerned, marked † in Table 1."
    )


def _range(values: set[int]) -> str:
    return f"{min(values):,}" if len(values) == 1 else f"{min(values):,} to {max(values):,}"


def _curve_caption(task: TaskResults, label: str) -> str:
    return (
        f"{label[0].upper()}{label[1:]}, over environment steps: median (line) between quartiles (band) of the seeds, "
        "whose number stands in brackets. A curve ends with its shortest run."
    )


def _last_section(findings: Findings) -> Section:
    """What is about all tasks or none."""
    used = {variant.algorithm for task in findings.tasks for variant in task.variants}
    about = components(used, any(task.is_papers for task in findings.tasks))
    tables = [pooled_scores(findings.tasks), about, list_failures(findings.failures), list_runs(findings)]
    paragraphs = []
    for asked in findings.comparisons:
        told = {name: value for name, value in asked.items() if name not in ("format", "versions", "started")}
        paragraphs.append(f"Asked for with qdpg compare: {json.dumps(told, ensure_ascii=False)}")
        versions = ", ".join(f"{name} {value}" for name, value in asked.get("versions", {}).items() if value)
        paragraphs.append(f"Started {asked.get('started', '-')} with {versions}.")
    return Section("Algorithms and runs", paragraphs, items=tuple(table for table in tables if table is not None))


def _renamed(table: Table, name: str) -> Table:
    return Table(name, table.title, table.columns, table.rows, table.records, table.notes, table.words)
