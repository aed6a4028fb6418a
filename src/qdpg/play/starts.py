"""Reset seeds by what they are for. Seeds of different purposes never coincide, for any task.

Players of JAX tasks take seeds of 32 bits, so all of them lie below 2³².
"""

from __future__ import annotations

from typing import Literal

import numpy as np

Purpose = Literal["population", "choose", "report", "adapt"]

TRAINING = 2**31  # training draws its reset seeds below
_SIZE = 2**29  # seeds of each other purpose
_FIRST = {
    "choose": TRAINING,  # by which elites are compared
    "report": TRAINING + _SIZE,  # by which the chosen one is judged
    "population": TRAINING + 2 * _SIZE,  # evaluations of what an algorithm proposes
    "adapt": TRAINING + 3 * _SIZE,  # trials of adaptation
}


def fresh_starts(purpose: Purpose, number: int, *seed: int) -> np.ndarray:
    """Reset seeds that no training episode and no other purpose uses, [number] int64, all different.

    Args:
        purpose: What they are for.
        number: How many; the first of many are those of few.
        *seed: Other numbers give other seeds.
    """
    first = np.random.default_rng(seed or 0).integers(_SIZE)
    return _FIRST[purpose] + (first + np.arange(number)) % _SIZE
