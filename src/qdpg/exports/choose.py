"""Which elites of a collection are meant: the best, one cell, the nearest to a behaviour, or all."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from qdpg.errors import UserError
from qdpg.runs.collection import Collection


def choose(
    elites: Collection,
    *,
    best: bool = False,
    cell: Sequence[int] | None = None,
    near: Sequence[float] | None = None,
    everything: bool = False,
) -> np.ndarray:
    """Rows of the elites that are meant, [n] int; the best if nothing is said.

    Args:
        elites: The collection.
        best: The one that is worth most.
        cell: The one in this cell: an index per dimension of a grid, or the number of a cell of a tessellation.
        near: The one whose stored behaviour is nearest to this, in shares of the descriptors' ranges.
        everything: All of them.

    Raises:
        UserError: More than one thing was said, the cell is empty or not there, or the numbers do not fit.
    """
    if sum((best, cell is not None, near is not None, everything)) > 1:
        raise UserError("give only one of --best, --cell, --near and --all.")
    if not len(elites):
        raise UserError("the collection is empty; train longer.")
    if everything:
        return np.arange(len(elites))
    if cell is not None:
        return np.array([_in_cell(elites, cell)])
    if near is not None:
        return np.array([nearest(elites, near)])
    return np.array([int(elites.worth.argmax())])


def cell_of(elites: Collection, row: int) -> tuple[int, ...]:
    """The cell of an elite: its index per dimension of a grid, or its number in a tessellation."""
    index, cells = int(elites.cells_index[row]), elites.about["cells"]
    return (index,) if isinstance(cells, int) else tuple(int(i) for i in np.unravel_index(index, cells))


def nearest(elites: Collection, behaviour: Sequence[float]) -> int:
    """The row of the elite whose stored behaviour is nearest to `behaviour` [D].

    Raises:
        UserError: There are not D finite numbers.
    """
    size = elites.spec.descriptor_size
    if len(behaviour) != size or not all(map(math.isfinite, behaviour)):
        names = ", ".join(elites.spec.descriptor_names)
        raise UserError(f"--near takes {size} finite numbers ({names}), such as {','.join(['0.5'] * size)}.")
    span = np.asarray(elites.spec.descriptor_high) - elites.spec.descriptor_low
    return int((((elites.behaviours - np.asarray(behaviour)) / span) ** 2).sum(axis=1).argmin())


def _in_cell(elites: Collection, cell: Sequence[int]) -> int:
    shape = elites.about["cells"]
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if len(cell) != len(sizes) or not all(0 <= i < size for i, size in zip(cell, sizes, strict=False)):
        ranges = " and ".join(f"0 to {size - 1}" for size in sizes)
        raise UserError(f"there is no cell {_words(cell)}; --cell takes one number for each of {ranges}.")
    index = int(np.ravel_multi_index(tuple(cell), sizes))
    rows = np.flatnonzero(elites.cells_index == index)
    if not len(rows):
        filled = np.stack(np.unravel_index(elites.cells_index, sizes), axis=-1)
        closest = int(((filled - np.asarray(cell)) ** 2).sum(axis=1).argmin())
        raise UserError(f"cell {_words(cell)} is empty; the nearest that is not is {_words(cell_of(elites, closest))}.")
    return int(rows[0])


def _words(cell: Sequence[int]) -> str:
    return ",".join(map(str, cell))
