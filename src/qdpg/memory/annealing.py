"""Thresholds that rise slowly: what a policy is worth to a search that is to look elsewhere in time (CMA-MAE).

Each cell has a threshold, at first the floor of the QD score. A policy is worth its fitness minus the threshold of its
cell. Where policies pass it, the threshold rises towards their fitness by a share; so a cell that was visited often is
worth less and less, even if its elite could still be improved.
"""

from __future__ import annotations

import numpy as np


def find_improvements(thresholds: np.ndarray, cells: np.ndarray, fitness: np.ndarray) -> np.ndarray:
    """What N policies in these cells [N] are worth, [N]."""
    return fitness - thresholds[cells]


def anneal(thresholds: np.ndarray, cells: np.ndarray, fitness: np.ndarray, rate: float) -> np.ndarray:
    """The thresholds [C] after N policies of one generation in these cells [N].

    k policies that pass a threshold move it k times by `rate` towards their mean fitness.
    """
    passed = fitness > thresholds[cells]
    number = np.bincount(cells[passed], minlength=len(thresholds))
    total = np.bincount(cells[passed], fitness[passed], minlength=len(thresholds))
    kept = (1.0 - rate) ** number
    return np.where(number > 0, kept * thresholds + (1.0 - kept) * total / np.maximum(number, 1), thresholds)
