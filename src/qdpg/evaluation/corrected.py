"""The corrected archive: every elite where its mean behaviour is, with its mean fitness (Flageat and Cully, 2023)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from ribs.archives import ArchiveBase


class Score(NamedTuple):
    """What an archive comes to."""

    qd_score: float  # sum over cells of the fitness above the task's floor
    cells: int  # filled
    coverage: float  # share of cells filled
    best: float  # the highest fitness

    def as_dict(self) -> dict[str, Any]:
        """By name."""
        return self._asdict()


def score(archive: ArchiveBase, floor: float, fitness: np.ndarray, behaviours: np.ndarray) -> Score:
    """Put policies with these fitnesses [n] and behaviours [n, D] into an empty archive, and score it.

    Args:
        archive: Says which cells there are; it is left as it is.
        floor: What the QD score counts from.
        fitness: [n].
        behaviours: [n, D].
    """
    if not len(fitness):
        return Score(0.0, 0, 0.0, -np.inf)
    best = np.full(archive.cells, -np.inf)
    np.maximum.at(best, np.asarray(archive.index_of(behaviours), np.int64), fitness)
    filled = best[np.isfinite(best)]
    return Score(
        float(np.maximum(filled - floor, 0.0).sum()), len(filled), len(filled) / archive.cells, float(filled.max())
    )


def loss(stored: float, corrected: float) -> float:
    """The share of a stored score that is lost by correction; NaN if there was nothing to lose."""
    return 1 - corrected / stored if stored > 0 else float("nan")
