"""A roadmap of the descriptor space: which places were visited, and between which of them somebody went.

Places are the bins of a fine grid over the bounds of ψ. Two neighbours are joined if somebody went from one to the
other. So walls need not be known: nobody ever went through them. Where a thin wall runs through a bin, it is entered
from both sides; but all who enter it there return to where they came from, and by this it is known. Steps of which
too little is known count as detours. The shortest known way to any target, from everywhere, is then one run of
Dijkstra's algorithm.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra

BINS = {1: 64, 2: 48, 3: 16}  # along each axis, by the number of descriptors; with more, no roadmap is drawn
FARTHEST = 8  # bins that a step is followed through, if it is a long one
VISITS = 3  # bins: whoever goes farther along a wall, and then through its gap, did not pass it before
RETURNS = 4  # with so many, and nobody who passed, a wall runs through a bin
DOUBT = 0.3  # how much longer a way seems for each step of which it is not certain that there is no wall
DETOUR = 6.0  # how much longer a way seems that leads along walls, or along the border of what is known
CLEARANCE = 2.0  # bins away from them over which it seems less and less so
LOOK_AHEAD = 2  # bins along a way: the last of them says which direction to take


class Roadmap(NamedTuple):
    """Bins that were visited, and the ways between them. All places are in z: descriptors from -1 to 1."""

    places: np.ndarray  # [V, D] middles of the bins
    ways: csr_matrix  # [V, V] how long the ways between neighbours seem, each named once; all are joined

    def nearest(self, targets: np.ndarray) -> np.ndarray:
        """Rows of the bins nearest to places [m, D]."""
        return np.argmin(((targets[:, None] - self.places[None]) ** 2).sum(axis=2), axis=1)


def draw_roadmap(places: np.ndarray, goes_on: np.ndarray, units: np.ndarray) -> Roadmap:
    """Find out between which bins somebody went; of several parts that are not joined, the largest is the map.

    Args:
        places: [m, D] places in the order in which they were visited, from -1 to 1.
        goes_on: [m] bool, whether the next row is the next state of the same episode.
        units: [D] how far a step of 1 leads along each axis.
    """
    size = places.shape[1]
    shape = (BINS[size],) * size
    strides = np.array([int(np.prod(shape[axis + 1 :])) for axis in range(size)])
    bins, follows = _follow(places, goes_on, shape)
    is_open, is_doubtful = _find_open(bins, follows, strides, shape)
    visited = np.unique(bins)
    rows = np.full(is_open.shape[1], -1)
    rows[visited] = np.arange(len(visited))
    sides, doubtful = (
        np.concatenate(
            [
                np.stack([rows[np.flatnonzero(each)], rows[np.flatnonzero(each) + stride]], axis=1)
                for each, stride in zip(joined, strides, strict=True)
            ]
        )
        for joined in (is_open, is_doubtful)
    )
    diagonals = [np.zeros((0, 2), int)]
    for one, other in itertools.combinations(range(size), 2):
        right, up = strides[one], strides[other]
        corners = np.flatnonzero(is_open[one] & is_open[other])
        corners = corners[is_open[other][corners + right] & is_open[one][corners + up]]  # all four sides
        diagonals.append(np.stack([rows[corners], rows[corners + right + up]], axis=1))
        diagonals.append(np.stack([rows[corners + right], rows[corners + up]], axis=1))
    middles = 2.0 * (np.stack(np.unravel_index(visited, shape), axis=1) + 0.5) / BINS[size] - 1.0
    ways = _measure(middles, units / units.mean(), sides, np.concatenate([sides, *diagonals]), doubtful)
    parts = connected_components(ways, directed=False)[1]
    largest = np.flatnonzero(parts == np.bincount(parts).argmax())
    return Roadmap(middles[largest], ways[largest][:, largest])


def find_way(roadmap: Roadmap, goal: int) -> tuple[np.ndarray, np.ndarray]:
    """Where to go from every bin on the shortest way to bin `goal`, a row of the roadmap.

    Returns:
        Lengths of the ways, [V], and rows of the next bins, [V], its own for the goal.
    """
    lengths, following = dijkstra(roadmap.ways, directed=False, indices=goal, return_predecessors=True)
    return lengths, np.where(following < 0, np.arange(len(following)), following)


def look_ahead(following: np.ndarray) -> np.ndarray:
    """Rows of the bins that are `LOOK_AHEAD` bins further on the way, [V]."""
    ahead = following
    for _ in range(LOOK_AHEAD - 1):
        ahead = following[ahead]
    return ahead


def walk(following: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Rows of all bins that lie on the ways from rows `starts` [m]."""
    on_way = np.zeros(len(following), bool)
    here = np.unique(starts)
    while len(here):
        on_way[here] = True
        here = np.unique(following[here])
        here = here[~on_way[here]]
    return np.flatnonzero(on_way)


def distance_from(roadmap: Roadmap, rows: np.ndarray) -> np.ndarray:
    """Length of the way from every bin to the nearest of those in `rows`, [V]."""
    return dijkstra(roadmap.ways, directed=False, indices=rows, min_only=True)


def _follow(places: np.ndarray, goes_on: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The bins that were visited, without repetitions, [k]; and whether each was entered from the one before it."""
    resolution = np.array(shape)
    scaled = (np.clip(places, -1.0, 1.0) + 1.0) / 2.0 * resolution
    cells = np.minimum(scaled.astype(np.int64), resolution - 1)
    goes_on = np.append(goes_on[:-1], False)
    jumps = np.abs(np.diff(cells, axis=0, append=cells[-1:])).sum(axis=1)
    parts = np.where(goes_on & (jumps > 1), 2 * np.minimum(jumps, FARTHEST), 1)
    if parts.max(initial=1) > 1:  # states between those that were seen
        share = np.concatenate([[0], np.cumsum(parts)])[:-1]
        share = (np.arange(parts.sum()) - np.repeat(share, parts)) / np.repeat(parts, parts)
        steps = np.diff(scaled, axis=0, append=scaled[-1:])
        scaled = np.repeat(scaled, parts, axis=0) + share[:, None] * np.repeat(steps, parts, axis=0)
        cells = np.minimum(scaled.astype(np.int64), resolution - 1)
        last = np.cumsum(parts) - 1
        within, goes_on = goes_on, np.ones(len(cells), bool)
        goes_on[last] = within
    bins = np.ravel_multi_index(tuple(cells.T), shape)
    begins = np.append(True, (bins[1:] != bins[:-1]) | ~goes_on[:-1])
    return bins[begins], np.append(False, goes_on[:-1])[begins]


def _find_open(
    bins: np.ndarray, follows: np.ndarray, strides: np.ndarray, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Whether somebody went from each bin to the next one along each axis, or back, [D, bins and some] bool twice.

    First where there is no wall for certain, then where nobody knows. Where one must be, both are false.
    """
    number, step = int(np.prod(shape)), np.diff(bins)
    is_open = np.zeros((len(strides), number + int(strides.sum())), bool)
    is_doubtful = is_open.copy()
    for axis, stride in enumerate(strides):
        heights = bins // stride % shape[axis]
        passed, returned = (np.bincount(bins[each], minlength=number) for each in _passages(heights, follows))
        at_border = np.isin(np.arange(number) // stride % shape[axis], (0, shape[axis] - 1))  # all return there
        free, closed = passed > 0, (passed == 0) & (returned >= RETURNS) & ~at_border
        crossed = follows[1:] & (np.abs(step) == stride)
        lower = np.minimum(bins[:-1], bins[1:])[crossed]
        upper = lower + stride
        is_open[axis, lower] = free[lower] & free[upper]
        is_doubtful[axis, lower] = ~(is_open[axis, lower] | closed[lower] | closed[upper])
    return is_open, is_doubtful


def _passages(heights: np.ndarray, follows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which visits of bins belong to a passage from below to above, or back; and which to a return to where one was.

    Args:
        heights: [k] of the bins that were visited, along the axis that counts.
        follows: [k] whether each was entered from the one before it.

    Returns:
        Both [k] bool.
    """
    begins = np.append(True, (heights[1:] != heights[:-1]) | ~follows[1:])
    first = np.flatnonzero(begins)  # of the visits of one height; in between one may go sideways
    entered = np.where(follows[first], heights[first] - heights[first - 1], 0)  # up or down; 0 if nobody knows
    left = np.append(entered[1:], 0)
    visits = np.diff(np.append(first, len(heights)))
    passed = (np.abs(entered) == 1) & (left == entered) & (visits <= VISITS)
    returned = (np.abs(entered) == 1) & (left == -entered)
    return np.repeat(passed, visits), np.repeat(returned, visits)


def _measure(
    places: np.ndarray, units: np.ndarray, sides: np.ndarray, certain: np.ndarray, doubtful: np.ndarray
) -> csr_matrix:
    """How long ways seem: longer along walls, and along the border of what is known, and where there may be a wall."""
    number, size = places.shape
    first, second = np.concatenate([certain, doubtful]).T
    steps = places[first] - places[second]
    bins, lengths = np.linalg.norm(steps, axis=1) * BINS[size] / 2, np.linalg.norm(steps * units, axis=1)
    hemmed_in = np.flatnonzero(np.bincount(sides.ravel(), minlength=number) < 2 * size)
    seeming = np.ones(number)
    if len(hemmed_in):
        plain = coo_matrix((bins, (first, second)), (number, number)).tocsr()
        free = dijkstra(plain, directed=False, indices=hemmed_in, min_only=True)
        seeming += DETOUR * np.exp(-((np.minimum(free, 99.0) / CLEARANCE) ** 2))
    lengths = lengths * (seeming[first] + seeming[second]) / 2
    lengths[len(certain) :] += DOUBT
    return coo_matrix((lengths, (first, second)), (number, number)).tocsr()
