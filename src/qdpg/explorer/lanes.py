"""Where agents that are shown at once have their scenes: all in one, or side by side. Pure; knows no browser."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from qdpg.explorer.archive import Frame
from qdpg.tasks.floor_plan import floor_extent
from qdpg.tasks.task import Floor

_GAP = 1.12  # from one lane to the next, in widths of a lane
_SCREEN = 1.5  # width of what can be seen, in heights


def lane_box(
    floor: Floor | None, frame: Frame, body: float | None, paths: Sequence[np.ndarray] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest corner, [3] each, of what belongs to one agent.

    Args:
        floor: The task's, if it has one.
        frame: Where the archive is.
        body: How far a body reaches; None if the agents are points.
        paths: Where agents go, [T, 3] each.
    """
    low, high = frame.low.copy(), frame.high.copy()
    if floor is not None:
        left, right, bottom, top = floor_extent(floor)
        low[:2], high[:2] = np.minimum(low[:2], (left, bottom)), np.maximum(high[:2], (right, top))
    if body is not None:  # whoever starts beside the archive is to be seen too
        low, high = np.minimum(low, -body), np.maximum(high, body)
    for path in paths:
        low, high = np.minimum(low, path.min(axis=0)), np.maximum(high, path.max(axis=0))
    return low, high


def lane_offsets(number: int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far each of some lanes is from the first, [number, 3]: in rows of about the shape of a screen.

    Args:
        number: Of lanes.
        low: The lowest corner of a lane, [3].
        high: The highest.
    """
    wide, tall = (_GAP * (high - low))[:2]
    columns = max(1, min(number, math.floor(math.sqrt(_SCREEN * number * tall / wide))))
    row, column = np.divmod(np.arange(number), columns)
    return np.stack([wide * column, -tall * row, np.zeros(number)], axis=1)
