"""𝔸: the archive of visited state descriptors that novelty is measured against."""

from __future__ import annotations

from typing import Any, Literal

import numba
import numpy as np
from scipy.spatial import cKDTree

from qdpg.tasks.task import TaskSpec

NoveltyKind = Literal["mean", "sum", "squared"]

_AT_ONCE = 50_000  # queries whose neighbours are held in memory


class Visited:
    """A first-in-first-out archive of state descriptors, thinned out on the way in.

    A descriptor is accepted when its mean distance to its K nearest neighbours in the archive exceeds a threshold.
    Candidates are judged one after another, each also against those accepted a moment ago; what the archive cannot
    hold leaves, oldest first, when all have been judged. While the archive holds fewer than K descriptors, the mean
    runs over those it holds; the first of all is always accepted.
    """

    def __init__(self, size: int, capacity: int, threshold: float, neighbours: int) -> None:
        """Start empty.

        Args:
            size: Number of descriptors D of a state.
            capacity: States held at most.
            threshold: Mean distance to the nearest neighbours that a state must exceed to be accepted.
            neighbours: K.
        """
        self.capacity, self.threshold, self.neighbours = capacity, threshold, neighbours
        self.descriptors = np.zeros((0, size), np.float32)  # [n, D], oldest first
        self._tree: cKDTree | None = None

    def __len__(self) -> int:
        return len(self.descriptors)

    def add(self, candidates: np.ndarray) -> int:
        """Judge `candidates` [m, D] in order; return how many were accepted."""
        candidates = np.ascontiguousarray(candidates, np.float32)
        known = np.full((len(candidates), self.neighbours), np.inf)
        if len(self):
            known[:, : min(self.neighbours, len(self))] = self._distances(candidates, self.neighbours)
        accepted = _judge(candidates, known, self.threshold)
        self.set(np.concatenate([self.descriptors, candidates[accepted]])[-self.capacity :])
        return int(accepted.sum())

    def set(self, descriptors: np.ndarray) -> None:
        """Hold exactly these descriptors [n, D], oldest first."""
        self.descriptors = descriptors
        self._tree = None

    def novelty(self, queries: np.ndarray, kind: NoveltyKind = "mean", held: bool = False) -> np.ndarray:
        """How far `queries` [m, D] are from their K nearest neighbours, [m] float32; zero while nothing is held.

        Args:
            queries: State descriptors; one that is itself in the archive counts as its own neighbour, unless `held`.
            kind: Mean of the distances (the paper's appendix), their sum (its main text), or the mean of their squares
                (QDax).
            held: All queries are in the archive: the nearest neighbour, which is the query itself, does not count.
        """
        if len(self) <= held:
            return np.zeros(len(queries), np.float32)
        distances = self._distances(queries, self.neighbours + held)[:, int(held) :]
        if kind == "sum":
            return distances.sum(axis=1).astype(np.float32)
        return (distances**2 if kind == "squared" else distances).mean(axis=1).astype(np.float32)

    def novelty_gradient(self, queries: np.ndarray) -> np.ndarray:
        """Gradient of the mean distance of `queries` [m, D] to their K nearest neighbours, [m, D] float32.

        Its length is at most 1, where all neighbours are on one side, and 0 in the midst of them.
        """
        gradients = np.zeros(queries.shape, np.float32)
        if not len(self):
            return gradients
        for first in range(0, len(queries), _AT_ONCE):
            here = queries[first : first + _AT_ONCE]
            distances, rows = self._nearest(here, self.neighbours)
            away = here[:, None] - self.descriptors[rows]
            gradients[first : first + _AT_ONCE] = (away / np.maximum(distances, 1e-6)[..., None]).mean(axis=1)
        return gradients

    def _distances(self, queries: np.ndarray, neighbours: int) -> np.ndarray:
        """Distances to the nearest neighbours in ascending order, [m, min(neighbours, n)] float64."""
        return self._nearest(queries, neighbours)[0]

    def _nearest(self, queries: np.ndarray, neighbours: int) -> tuple[np.ndarray, np.ndarray]:
        """The same, and which they are."""
        if self._tree is None:
            self._tree = cKDTree(self.descriptors)
        nearest = list(range(1, min(neighbours, len(self)) + 1))  # a list keeps the axis even for one neighbour
        return self._tree.query(queries, k=nearest, workers=-1)


def make_visited(spec: TaskSpec, settings: Any) -> Visited:
    """𝔸 with these settings: `visited_size`, `visited_threshold` (a share of the descriptors' range), `neighbours`."""
    span = float(np.mean(np.asarray(spec.descriptor_high) - spec.descriptor_low))
    threshold = settings.visited_threshold * span
    return Visited(spec.descriptor_size, settings.visited_size, threshold, settings.neighbours)


@numba.njit(cache=True)
def _judge(candidates: np.ndarray, known: np.ndarray, threshold: float) -> np.ndarray:
    """Accept or refuse candidates [m, D] one by one.

    `known` [m, K] holds the ascending distances to the archive as it was, infinite where it held fewer; it is updated
    in place with the distances to candidates accepted before.
    """
    number, neighbours = known.shape
    accepted = np.zeros(number, np.bool_)
    chosen = np.empty(number, np.int64)
    count = 0
    for c in range(number):
        row = known[c]
        for a in range(count):
            square = 0.0
            for d in range(candidates.shape[1]):
                square += (float(candidates[c, d]) - float(candidates[chosen[a], d])) ** 2
            distance = np.sqrt(square)
            if distance < row[neighbours - 1]:
                k = neighbours - 1
                while k > 0 and row[k - 1] > distance:
                    row[k] = row[k - 1]
                    k -= 1
                row[k] = distance
        total, held = 0.0, 0
        for k in range(neighbours):
            if np.isfinite(row[k]):
                total += row[k]
                held += 1
        if held == 0 or total / held > threshold:
            accepted[c] = True
            chosen[count] = c
            count += 1
    return accepted
