"""Observation normalisation as a change of coordinates of a policy's first layer.

A network W, b on normalised observations (o - mean) / std is the network W / std, b - (mean / std)·W on plain ones. A
search may therefore move in the coordinates of normalised observations, while the policies that it plays, stores and
hands out are plain networks, which need no normaliser and do not change when the statistics do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qdpg.learn.networks import MLP

_LEAST_VARIANCE = 1e-2  # so that an observation that hardly moves is not blown up (OpenAI's ES)


class ObservationStats(NamedTuple):
    """Running sums over observations seen; all zero at first."""

    number: np.ndarray  # [] float64
    total: np.ndarray  # [O] float64
    squares: np.ndarray  # [O] float64

    def add(self, observations: np.ndarray) -> ObservationStats:
        """The statistics after `observations` [m, O] too."""
        wide = observations.astype(np.float64)
        return ObservationStats(
            self.number + len(wide), self.total + wide.sum(axis=0), self.squares + (wide**2).sum(axis=0)
        )

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation, [O] float32 each; 0 and 1 while nothing has been seen."""
        if self.number == 0:
            return np.zeros(len(self.total), np.float32), np.ones(len(self.total), np.float32)
        mean = self.total / self.number
        variance = np.maximum(self.squares / self.number - mean**2, _LEAST_VARIANCE)
        return mean.astype(np.float32), np.sqrt(variance).astype(np.float32)


def no_stats(observation_size: int) -> ObservationStats:
    """Statistics of nothing."""
    return ObservationStats(np.zeros(()), np.zeros(observation_size), np.zeros(observation_size))


def fold(population: MLP, stats: ObservationStats) -> MLP:
    """Turn networks on normalised observations into the same networks on plain ones; both stacked."""
    mean, std = stats.moments()
    weight = np.asarray(population.weights[0]) / std[:, None]
    return _with_first_layer(population, weight, np.asarray(population.biases[0]) - _dot(mean, weight))


def unfold(population: MLP, stats: ObservationStats) -> MLP:
    """The inverse of `fold`."""
    mean, std = stats.moments()
    weight = np.asarray(population.weights[0])
    return _with_first_layer(population, weight * std[:, None], np.asarray(population.biases[0]) + _dot(mean, weight))


def _dot(mean: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """[O], [N, O, H] -> [N, H], summed in one fixed order, so that a policy does not depend on its company."""
    result = np.zeros((weight.shape[0], weight.shape[2]), np.float32)
    for i, value in enumerate(mean):
        result += value * weight[:, i]
    return result


def _with_first_layer(population: MLP, weight: np.ndarray, bias: np.ndarray) -> MLP:
    return MLP(
        (weight, *population.weights[1:]),  # type: ignore[arg-type]
        (bias, *population.biases[1:]),  # type: ignore[arg-type]
        population.hidden,
        population.output,
    )
