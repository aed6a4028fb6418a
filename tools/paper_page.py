"""The page of the paper's tables beside ours, docs/results/paper.md, made of rows alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import numpy as np
from paper_rows import CSV, OTHERS, PARTS, TABLE_1, Part, Row, read_rows

from qdpg.report import paper
from qdpg.report.statistics import bootstrap_interval, interquartile_mean
from qdpg.report.words import plural

PAGE = CSV.with_suffix(".md")
REASONS = CSV.with_name("paper-reasons.csv")
FIGURES = CSV.with_name("paper")  # a report for each part whose runs were at hand

INTRODUCTION = """# The paper's tables

Written by `make results` from [paper.csv](paper.csv), which has a row for every run with its revision and machine.
Presets `tuned`.

**Evaluated** is the mean of the best elite over 20 fresh starts that it was not chosen by, **stored** the episode that
it was kept for, which is optimistic. Both are interquartile means over seeds; in brackets a bootstrap interval (95 %).
**The paper** has medians of 5 seeds ± half the interquartile range, after 10⁶ steps on point-maze and 10⁸ on the ants:
on the ants nothing here has its budget. Its evolution strategies are those of Colas et al. (2020), which had some
10¹⁰ steps. Seconds are wall time on one core.
"""


OTHER_TABLES = """## Figures, and the other tables

| the paper | here |
|---|---|
| Figure 3 and the gradient maps: tasks, and where the reward pulls | [Tasks](../tasks.md); `qdpg tasks --draw DIRECTORY` |
| learning curves, ablations, coverage maps, final grids | drawn by `make results` of the runs that are at hand; of earlier runs with other budgets: [point-maze](point-maze/report.md), [ant-trap](ant-trap/report.md), [ant-maze](ant-maze/report.md) |
| adaptation: trials, and the map of performance | [point-maze](point-maze/adaptation.md), [ant-maze](ant-maze/README.md); `qdpg adapt RUN` |
| Table 3: settings | [all settings](../from-code/settings.md), preset `paper` |
| Table 4: summary of algorithms | `qdpg algorithms` |
"""  # noqa: E501


def write_page(rows: Sequence[Row]) -> str:
    """The page."""
    parts = (line for part in PARTS for line in write_part(part, rows))
    return "\n".join([INTRODUCTION, *write_overview(rows), *parts, OTHER_TABLES])


def write_overview(rows: Sequence[Row]) -> list[str]:
    """Table 1: all of its algorithms, and all of its tasks side by side. Other pages quote it."""
    parts = [part for part in PARTS if part.name in paper.FINAL]
    heads = [head for part in parts for head in (f"{part.name}: evaluated", "stored", "seeds, steps", "the paper")]
    lines = ["## Table 1", "", "<!-- name: table-1 -->", "", f"| algorithm | {' | '.join(heads)} |"]
    lines.append("|---|" + "---:|" * len(heads))
    for name in dict.fromkeys((*TABLE_1, *OTHERS)):
        cells = [cell for part in parts for cell in overview_cells(part, name, rows)]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return [*lines, "", "<!-- end -->", ""]


def overview_cells(part: Part, name: str, rows: Sequence[Row]) -> list[str]:
    """What Table 1 says of an algorithm on a task: evaluated, stored, seeds and steps, the paper."""
    own = [row for row in rows if (row["part"], row["algorithm"]) == (part.name, name)]
    if not own:
        return ["–", "–", "–", printed(part, name)]
    shown = [with_interval([float(row[column]) for row in own]) for column in ("evaluated", "stored")]
    return [*shown, f"{len(own)}, {amount(part.steps)}", printed(part, name)]


def amount(steps: int) -> str:
    """Steps, as a power of ten if they are one."""
    power = len(str(steps)) - 1
    if steps != 10**power:
        return f"{steps:,}"
    return "10" + str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def printed(part: Part, name: str) -> str:
    """What the paper has of an algorithm on a task."""
    known = paper.FINAL[part.task].get(name)
    return f"{known.median:g} ± {known.spread:g}".replace("-", "−") if known else "–"


def write_part(part: Part, rows: Sequence[Row]) -> list[str]:
    """Its table, and what is missing."""
    own = {
        name: [row for row in rows if (row["part"], row["algorithm"]) == (part.name, name)] for name in part.algorithms
    }
    done, wanted = sum(map(len, own.values())), part.seeds * len(part.algorithms)
    lines = [f"## {part.title}", "", f"{done} of {plural(wanted, 'run')}, {part.steps:,} steps each:", ""]
    lines += [f"    qdpg {' '.join(part.command())}", ""]
    if done:
        lines += [
            "| algorithm | evaluated | stored | the paper | seeds | s per run | MB |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        lines += [write_line(part, name, own[name]) for name in part.algorithms if own[name]]
        if (FIGURES / part.name / "report.md").exists():
            lines += ["", f"[Learning curves, coverage maps, final grids](paper/{part.name}/report.md)."]
        lines += ["", *explain(part, [name for name in part.algorithms if own[name]])]
    missing = {name: part.seeds - len(own[name]) for name in part.algorithms if len(own[name]) < part.seeds}
    if missing:
        costs = {name: number * seconds_of(part, name, own[name]) for name, number in missing.items()}
        runs = ", ".join(f"{number} of `{name}`" for name, number in missing.items())
        unknown = [f"`{name}`" for name, seconds in costs.items() if math.isnan(seconds)]
        hours = sum(seconds for seconds in costs.values() if not math.isnan(seconds)) / 3600
        also = f" Not measured: {', '.join(unknown)}." if unknown else ""
        cost = "" if len(unknown) == len(costs) else f" On one core that takes some {hours:.1f} hours."
        lines += [f"Missing: {runs if done else 'all runs'}.{cost}{also}", ""]
    return lines


def explain(part: Part, names: Sequence[str]) -> list[str]:
    """Where a row differs from the paper's, and why, in a sentence each."""
    said = [row for row in read_rows(REASONS) if row["part"] == part.name and row["algorithm"] in names]
    lines = [f"- `{row['algorithm']}`: {row['sentence']}" for row in said]
    return ["What differs from the paper, and why:", "", *lines, ""] if lines else []


def write_line(part: Part, name: str, own: Sequence[Row]) -> str:
    """One row of a table."""
    shown = [with_interval([float(row[column]) for row in own]) for column in ("evaluated", "stored")]
    shown[0] = f"<!-- name: {part.name}/{name} -->{shown[0]}<!-- end -->"  # for pages that quote it
    seeds = f"<!-- name: {part.name}/{name}/seeds -->{len(own)}<!-- end -->"
    costs = [f"{median(float(row[column]) for row in own):,.0f}" for column in ("seconds", "memory_mb")]
    return f"| `{name}` | {' | '.join([*shown, printed(part, name), seeds, *costs])} |"


def with_interval(scores: Sequence[float]) -> str:
    """The interquartile mean of scores; from three on with its interval."""
    if len(scores) < 3:
        value = interquartile_mean(np.array(scores))
        return f"{value:,.1f}".replace("-", "−")
    middle, low, high = bootstrap_interval([scores])
    return f"{middle:,.1f} ({low:,.1f} to {high:,.1f})".replace("-", "−")


def seconds_of(part: Part, name: str, own: Sequence[Row]) -> float:
    """How long a run takes, by those that are there, or else by an earlier measurement; NaN if there is none."""
    if own:
        return median(float(row["seconds"]) for row in own)
    earlier = CSV.parent / part.task / "tables" / f"{part.task}-time-and-memory.csv"
    speeds = {row["algorithm"]: float(row["steps_per_second"]) for row in read_rows(earlier)}
    return part.steps / speeds[name] if name in speeds else math.nan
