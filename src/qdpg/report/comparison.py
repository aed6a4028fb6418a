"""The tables that are about one task: final performance, steps to the goal, interquartile means, time and memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from qdpg.algorithms.algorithm import KINDS
from qdpg.report import paper
from qdpg.report.gather import TaskResults, Variant
from qdpg.report.statistics import Interval, Summary, bootstrap_interval, summarise
from qdpg.report.tables import Table
from qdpg.report.words import number, plural

REDUCED = "†"  # marks numbers that were not measured with the paper's steps and seeds
QUOTED = "‡"  # marks numbers that the paper quotes
DIFFERS = "differs from the paper in"

EVALUATED = (
    "Best elite: the mean fitness of the best elite over fresh starts, without noise, median over seeds ± half the "
    "interquartile range. The elite is chosen by other fresh starts (`qdpg evaluate`)."
)
CORRECTED = (
    "Corrected QD score: over fresh starts, each elite counts with its mean fitness in the cell of its mean behaviour. "
    "Own cell: share of these episodes that end in the cell that the elite was stored for."
)
FINAL = (
    "Final performance: the best fitness in the last deterministic evaluation of the current population. It is the "
    "best of several episodes, so it is optimistic. In a run it is the last best_fitness of evaluations.csv; the "
    "population is what the algorithm proposed last."
)
STORED = (
    "Stored: the best fitness in the collection, as it was stored (last best_fitness of metrics.csv). It is "
    "optimistic, since it is the best of many."
)
DESCRIBED = (
    "Final performance is what the paper describes: the current population is evaluated every 5,000 (point-maze) or "
    "150,000 steps (ants), deterministically, and the best agent counts. If its population is its whole grid, which "
    "its ±0 on point-maze suggests, the stored values are the ones to compare with the paper's."
)
NOT_EVALUATED = "Runs that were not evaluated have a dash; `qdpg evaluate RUN` does it."
SCORES = {
    "best elite": "evaluated_best",
    "corrected QD score": "corrected_qd_score",
    "own cell": "share_own_cell",
    "final performance": "final",
    "best elite, stored": "best_elite",
}


def final_performance(task: TaskResults) -> Table:
    """Table 1: what collections are worth, ours beside the paper's."""
    columns = ["algorithm", *SCORES, "solved", "seeds", "steps"]
    if task.is_papers:
        columns += ["paper", DIFFERS]
    rows, records = [], []
    for variant in task.variants:
        scores = {name: summarise(variant.scores(attribute)) for name, attribute in SCORES.items()}
        steps, solved = summarise(variant.scores("steps")), int(np.isfinite(variant.scores("steps_to_solved")).sum())
        mark = REDUCED if is_reduced(task, variant) else ""
        has_threshold = task.spec.solved is not None
        row = [variant.label]
        for name, summary in scores.items():
            text = _percent(summary) if name == "own cell" else _spread(summary)
            row.append(text if text == "-" else text + mark)
        row += [f"{solved} of {len(variant.results)}" if has_threshold else "-"]
        row += [str(len(variant.results)), number(steps.median)]
        record: dict[str, Any] = {"algorithm": variant.label}
        for name, attribute in SCORES.items():
            record |= _fields(attribute, scores[name])
        record |= {"solved": solved if has_threshold else None, "seeds": len(variant.results)}
        record |= {"steps": steps.median, "budget": variant.budget}
        if task.is_papers:
            printed = paper.FINAL[task.name].get(variant.algorithm)
            quoted = QUOTED if variant.algorithm in paper.QUOTED else ""
            row += [f"{printed.median:g} ± {printed.spread:g}{quoted}" if printed else "not in its table"]
            row += ["; ".join(differences(task, variant)) or "nothing"]
            record |= {"paper_median": printed.median if printed else None}
            record |= {"paper_half_iqr": printed.spread if printed else None}
            record |= {"differs_from_paper_in": "; ".join(differences(task, variant))}
        rows.append(row)
        records.append(record)
    notes = [EVALUATED, CORRECTED, FINAL, STORED]
    if task.spec.solved is not None:
        notes.append(
            f"Solved: runs in which, at two successive looks, the best elite's mean over 20 fixed fresh starts that it "
            f"was not chosen by reached {number(task.spec.solved)}."
        )
    if any(not variant.is_finished for variant in task.variants):
        notes.append("Not finished: runs that were interrupted, as far as they came.")
    if any(not np.isfinite(variant.scores("evaluated_best")).all() for variant in task.variants):
        notes.append(NOT_EVALUATED)
    if any(not np.isfinite(variant.scores("final")).all() for variant in task.variants):
        every = task.spec.evaluate_every
        notes.append(f"Runs shorter than {every:,} steps were never evaluated and have no final performance.")
    notes += _notes_on_paper(task)
    return Table("final-performance", "Table 1: final performance", columns, rows, records, notes, frozenset({DIFFERS}))


def _notes_on_paper(task: TaskResults) -> list[str]:
    if not task.is_papers:
        return []
    notes = [DESCRIBED]
    reduced = sum(is_reduced(task, variant) for variant in task.variants)
    if reduced:
        notes.append(
            f"{REDUCED} Not the paper's budget: {reduced} of {plural(len(task.variants), 'row')} had other steps or "
            f"seeds than its {paper.STEPS[task.name]:,} steps and {paper.SEEDS} seeds. These numbers are no "
            "reproduction of the paper's, and stand beside them for orientation only."
        )
    quoted = [v for v in task.variants if v.algorithm in paper.QUOTED and v.algorithm in paper.FINAL[task.name]]
    if quoted:
        notes.append(
            f"{QUOTED} Quoted in the paper from Colas et al. (2020), who played more than 10¹⁰ steps and report the "
            "last reward of an episode, not the best."
        )
    if task.name == "point-maze" and any(v.algorithm == "cem-rl" for v in task.variants):
        notes.append("The paper's -312 for cem-rl is not far from what random policies score (-333).")
    return notes


def is_reduced(task: TaskResults, variant: Variant) -> bool:
    """Whether steps or seeds are not the paper's."""
    return task.is_papers and (
        len(variant.results) != paper.SEEDS
        or variant.budget != paper.STEPS[task.name]
        or variant.until_solved
        or not variant.is_finished
    )


def differences(task: TaskResults, variant: Variant) -> list[str]:
    """In what a row differs from the paper's experiment, in words."""
    found = [] if variant.is_finished else ["not finished"]
    if variant.budget != paper.STEPS[task.name]:
        found.append(f"{variant.budget:,} steps, not {paper.STEPS[task.name]:,}")
    if variant.until_solved:
        found.append("stopped when solved")
    if len(variant.results) != paper.SEEDS:
        found.append(f"{plural(len(variant.results), 'seed')}, not {paper.SEEDS}")
    if variant.preset != "paper":
        found.append(f"preset {variant.preset}")
    if variant.changes:
        found.append("settings " + ", ".join(variant.changes))
    return found


def steps_to_goal(task: TaskResults) -> Table | None:
    """Table 2: steps to the goal and their ratio to QD-PG's; None if the task does not say when it is solved."""
    if task.spec.solved is None:
        return None
    ours = next((variant for variant in task.variants if variant.algorithm == "qd-pg"), None)
    has_paper = task.is_papers and task.name == "ant-maze"
    columns = ["algorithm", "solved", "steps until solved", "ratio"]
    columns += ["paper's steps", "paper's ratio"] if has_paper else []
    rows, records = [], []
    for variant in task.variants:
        row, record = [variant.label], {"algorithm": variant.label, "seeds": len(variant.results)}
        steps = variant.scores("steps_to_solved")
        middle = summarise(steps).median
        base = summarise(ours.scores("steps_to_solved")).median if ours else np.nan
        ratio = middle / base if np.isfinite(base) else np.nan
        reached = int(np.isfinite(steps).sum())
        row += [f"{reached} of {len(steps)}", _steps(middle), _ratio(ratio)]
        record |= {"solved_seeds": reached, "steps_to_solved": middle, "ratio": ratio}
        if has_paper:
            printed = paper.STEPS_TO_GOAL.get(variant.algorithm, np.nan)
            row += ["-" if np.isnan(printed) else "∞" if np.isinf(printed) else f"{printed:.1e}"]
            row += [_ratio(paper.RATIO.get(variant.algorithm, np.nan))]
            record |= {"paper_steps": printed, "paper_ratio": paper.RATIO.get(variant.algorithm, np.nan)}
        rows.append(row)
        records.append(record)
    notes = [
        f"Steps until solved: until the second of two successive looks at which the best elite's mean over 20 fixed "
        f"fresh starts, that it was not chosen by, was {number(task.spec.solved)} or better. Medians over seeds, in "
        "which a run that never got there counts as infinite (∞).",
        f"Ratio: to {ours.label}; not known where that never gets there."
        if ours
        else "Ratio: not known without qd-pg.",
        "Evaluations take place every so-many steps, so that all of these are rounded up to the next one.",
    ]
    return Table("steps-to-goal", "Table 2: steps to the goal", columns, rows, records, notes)


def interquartile_means(task: TaskResults) -> Table:
    """Interquartile means with bootstrap intervals."""
    names = {
        "evaluated_best": "best elite",
        "corrected_qd_score": "corrected QD score",
        "corrected_coverage": "corrected cells",
        "final": "final performance",
        "best_elite": "best elite, stored",
        "coverage": "cells, stored",
        "qd_score": "QD score, stored",
    }
    rows, records = [], []
    for variant in task.variants:
        row, record = [variant.label], {"algorithm": variant.label, "seeds": len(variant.results)}
        for name in names:
            interval = interval_of([variant.scores(name)])
            scale, unit = (100, " %") if name.endswith("coverage") else (1, "")
            row.append(in_words(Interval(*(scale * value for value in interval)), unit))
            record |= {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}
        rows.append(row)
        records.append(record)
    notes = [
        "Mean of the middle half of the seeds, with a 95 % interval in brackets: percentiles of 10,000 bootstrap "
        "resamples. With few seeds such an interval is too narrow; with one there is none.",
        "Cells and QD scores depend on the grid, which is not the same for all algorithms; they compare rows of "
        "equal grids only.",
    ]
    columns = ["algorithm", *names.values()]
    return Table("interquartile-means", "Interquartile means", columns, rows, records, notes)


def interval_of(strata: list[np.ndarray]) -> Interval:
    """The interval of what is known in `strata`, or of nothing."""
    known = [scores[np.isfinite(scores)] for scores in strata]
    return bootstrap_interval(known) if any(map(len, known)) else Interval(np.nan, np.nan, np.nan)


def in_words(interval: Interval, unit: str = "") -> str:
    """Write an interval: -24.1 [-25, -23]."""
    if np.isnan(interval.value):
        return "-"
    bounds = "" if np.isnan(interval.low) else f" [{number(interval.low)}, {number(interval.high)}]"
    return number(interval.value) + unit + bounds


def resources(task: TaskResults) -> Table:
    """Time and memory."""
    rows, records = [], []
    kinds = (*KINDS, "rest")
    for variant in task.variants:
        seconds, speed, memory = (
            summarise(variant.scores(name)).median for name in ("seconds", "speed", "peak_memory")
        )
        shares = {kind: _share(variant, kind) for kind in kinds}
        row = [variant.label, _duration(seconds), number(speed)]
        row += ["-" if np.isnan(share) else f"{share:.0%}" for share in shares.values()]
        row += ["-" if np.isnan(memory) else f"{memory / 2**20:,.0f} MiB"]
        rows.append(row)
        records.append(
            {"algorithm": variant.label, "seconds": seconds, "steps_per_second": speed}
            | {f"{kind}_share": share for kind, share in shares.items()}
            | {"peak_memory_bytes": memory}
        )
    columns = ["algorithm", "time", "steps/s", *kinds, "peak memory"]
    notes = [
        "Medians over seeds; shares are of the time of all seeds together. Runs that shared the machine with others "
        "took longer than they would have alone, so times compare rows only roughly.",
        "Peak memory is the most that the training process held at once, libraries included.",
    ]
    return Table("time-and-memory", "Time and memory", columns, rows, records, notes)


def _share(variant: Variant, kind: str) -> float:
    """Which part of all seeds' time went into a kind of work; NaN if they did not record it."""
    spent = [result.metrics[f"{kind}_seconds"][-1] for result in variant.results if f"{kind}_seconds" in result.metrics]
    total = variant.scores("seconds").sum()
    return float(sum(spent) / total) if len(spent) == len(variant.results) and total > 0 else np.nan


def _spread(summary: Summary) -> str:
    if np.isnan(summary.median):
        return "-"
    # Both with the same decimals, and fewer the greater they are.
    decimals = 0 if abs(summary.median) >= 1000 else 1 if abs(summary.median) >= 10 else 2
    spread = "" if np.isnan(summary.spread) else f" ± {summary.spread:,.{decimals}f}"
    return f"{summary.median:,.{decimals}f}{spread}"


def _percent(summary: Summary) -> str:
    return "-" if np.isnan(summary.median) else f"{summary.median:.0%}"


def _fields(name: str, summary: Summary) -> dict[str, float]:
    return {
        f"{name}_median": summary.median,
        f"{name}_first_quartile": summary.low,
        f"{name}_third_quartile": summary.high,
        f"{name}_half_iqr": summary.spread,
    }


def _steps(value: float) -> str:
    return "∞" if np.isposinf(value) else number(value)


def _ratio(value: float) -> str:
    return "∞" if np.isposinf(value) else "-" if np.isnan(value) else f"{value:.3g}"


def _duration(seconds: float) -> str:
    if np.isnan(seconds):
        return "-"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
