"""When was a task solved? Read off the looks that a run recorded; see `looks.py`."""

from __future__ import annotations

import numpy as np

SUCCESSIVE = 2  # looks at which an elite must reach the threshold


def steps_to_solved(steps: np.ndarray, means: np.ndarray, solved: float | None) -> float:
    """Environment steps until a task was solved: the second of two successive looks that reach the threshold.

    Args:
        steps: [n] when looks were due.
        means: [n] the best elite's mean, not-a-number where nobody looked because no stored fitness reached it.
        solved: The threshold.

    Returns:
        Infinity if it was not solved, not-a-number if the task has no threshold.
    """
    if solved is None:
        return np.nan
    reached = np.asarray(means) >= solved
    both = np.flatnonzero(reached[:-1] & reached[1:]) if len(reached) >= SUCCESSIVE else np.zeros(0, int)
    return float(np.asarray(steps)[both[0] + 1]) if len(both) else np.inf
