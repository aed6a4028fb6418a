"""Finding out which observations a descriptor can be read off, for tasks that do not say so."""

from __future__ import annotations

import numpy as np

from qdpg.native import one_thread

Located = tuple[tuple[int, float, float], ...]

LEAST_STATES = 20  # with fewer, chance could make anything look alike
EXACT, ROUNDING = 1e-5, 5e-7  # the largest error, as a share of how far the descriptor moved, and of its size
ALIKE = 1e-3  # but at most so much of how far it moved: beyond, rounding hides what there is to see


def find_located(observations: np.ndarray, descriptors: np.ndarray) -> Located:
    """For each descriptor which observation it is, and by what to multiply that and what to add.

    Args:
        observations: [m, O] of some states.
        descriptors: [m, D] of the same.

    Returns:
        Empty if any descriptor cannot be read off, or did not move; see `TaskSpec.located`.
    """
    found = []
    seen, described = observations.astype(np.float64), descriptors.astype(np.float64)
    if len(seen) < LEAST_STATES:
        return ()
    moved = seen - seen.mean(axis=0)
    squares = (moved**2).sum(axis=0)
    for psi in described.T:
        span = psi.max() - psi.min()
        largest = min(EXACT * span + ROUNDING * np.abs(psi).max(), ALIKE * span)
        with one_thread():
            factors = moved.T @ (psi - psi.mean()) / np.where(squares > 0, squares, np.inf)
        shifts = psi.mean() - factors * seen.mean(axis=0)
        errors = np.abs(seen * factors + shifts - psi[:, None]).max(axis=0)
        row = int(np.argmin(errors))
        if len(np.unique(psi)) < LEAST_STATES or not errors[row] <= largest:  # nor if anything is not a number
            return ()
        factor, shift = factors[row], shifts[row]
        if np.abs(seen[:, row] - psi).max() <= largest:
            factor, shift = 1.0, 0.0  # they are the same but for rounding
        found.append((row, float(factor), float(shift)))
    return tuple(found)
