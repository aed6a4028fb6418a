"""Reset seeds by what they are for. Seeds of different purposes never coincide, for any task.

Players of JAX tasks take seeds of 32 bits, so all of them lie below 2³².
"""

from __future__ import annotations

from typing import Literal

import numpy as np

Purpose = Literal["look-choose", "look-report", "population", "choose", "report", "adapt", "watch"]

TRAINING = 2**31  # training draws its reset seeds below
_QUARTER = 2**29  # of what is left
_RANGES = {  # the first seed, and how many there are
    "look-choose": (TRAINING, _QUARTER),  # by which a look at a run in training compares elites
    "look-report": (TRAINING + _QUARTER, _QUARTER),  # by which it judges the chosen one, and may end the run
    "population": (TRAINING + 2 * _QUARTER, _QUARTER),  # evaluations of what an algorithm proposes
    "choose": (TRAINING + 3 * _QUARTER, _QUARTER // 4),  # by which `qdpg evaluate` compares elites
    "report": (TRAINING + 3 * _QUARTER + _QUARTER // 4, _QUARTER // 4),  # by which it judges the chosen one
    "adapt": (TRAINING + 3 * _QUARTER + _QUARTER // 2, _QUARTER // 4),  # trials of adaptation
    "watch": (TRAINING + 3 * _QUARTER + 3 * _QUARTER // 4, _QUARTER // 4),  # episodes that somebody watches
}


def fresh_starts(purpose: Purpose, number: int, *seed: int) -> np.ndarray:
    """Reset seeds that no training episode and no other purpose uses, [number] int64, all different.

    Args:
        purpose: What they are for.
        number: How many; the first of many are those of few.
        *seed: Other numbers give other seeds.
    """
    first, size = _RANGES[purpose]
    return first + (np.random.default_rng(seed or 0).integers(size) + np.arange(number)) % size
