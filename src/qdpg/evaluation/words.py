"""An evaluation in words."""

from __future__ import annotations

from typing import Any

from qdpg.report.words import number


def describe(summary: dict[str, Any] | None) -> dict[str, str]:
    """An evaluation in words, by label: evaluated values first, stored ones second."""
    if summary is None or not summary.get("episodes"):
        return {"from fresh starts": "not evaluated since it was trained; see `qdpg evaluate`"}
    corrected, stored, best = summary["corrected"], summary["stored"], summary["best"]
    optimistic = "stored, optimistic"
    rows = {
        "from fresh starts": f"{summary['elites']:,} elites x {summary['episodes']} episodes"
        + ("" if summary["complete"] else f" of {summary['episodes_wanted']}; `qdpg evaluate` plays the rest"),
        "corrected QD score": f"{number(corrected['qd_score'])}  ({optimistic}: {number(stored['qd_score'])})",
        "corrected cells": f"{corrected['cells']:,}  ({optimistic}: {stored['cells']:,})",
        "end in their own cell": f"{summary['share_own_cell']:.0%} of all episodes",
    }
    if best is not None:
        quartiles = ", ".join(number(best[key]) for key in ("lower_quartile", "median", "upper_quartile"))
        rows["best elite"] = (
            f"mean {number(best['mean'])}, quartiles {quartiles}, from starts it was not chosen by  "
            f"({optimistic}: {number(best['stored_fitness'])})"
        )
    return rows
