"""Policies at play outside JAX: one observation per policy at a time, as fast as memory allows, always the same bits.

XLA and BLAS choose kernels by batch shape and thread count, so their rounding depends on who else is in the batch.
Here every policy's arithmetic runs in one fixed order on its own, which makes a stored elite replay exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from qdpg.learn.networks import LOG_DEVIATION, LOG_DEVIATION_RANGE, MLP

_CODES = {"linear": 0, "relu": 1, "tanh": 2, "gaussian": 0}
_MIDDLE, _RANGE = np.float32(LOG_DEVIATION), np.float32(LOG_DEVIATION_RANGE)


@numba.njit(cache=True, nogil=True)
def _activate(x: np.ndarray, code: int) -> None:
    for i in range(x.shape[0]):
        if code == 1:
            x[i] = max(x[i], np.float32(0))
        elif code == 2:
            x[i] = np.tanh(x[i])


@numba.njit(cache=True, nogil=True)
def _layer(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, code: int, rows: np.ndarray) -> np.ndarray:
    """Apply one layer of each policy in `rows` to its own row of x [n, fan_in]; returns [n, fan_out]."""
    out = np.empty((x.shape[0], bias.shape[1]), np.float32)
    active = np.empty(x.shape[1], np.int64)
    for n in range(x.shape[0]):
        w, y = weight[rows[n]], out[n]
        y[:] = bias[rows[n]]
        # Inactive ReLU units and absent observations are common, and their row of weights need not be read.
        count = 0
        for i in range(x.shape[1]):
            if x[n, i] != 0:
                active[count] = i
                count += 1
        # Four inputs at a time keep the sums in registers; the order of additions is that of one at a time.
        whole = count - count % 4
        for k in range(0, whole, 4):
            a, b, c, d = active[k], active[k + 1], active[k + 2], active[k + 3]
            xa, xb, xc, xd = x[n, a], x[n, b], x[n, c], x[n, d]
            for j in range(y.shape[0]):
                y[j] = (((y[j] + xa * w[a, j]) + xb * w[b, j]) + xc * w[c, j]) + xd * w[d, j]
        for k in range(whole, count):
            xa = x[n, active[k]]
            for j in range(y.shape[0]):
                y[j] += xa * w[active[k], j]
        _activate(y, code)
    return out


@numba.njit(cache=True, nogil=True)
def _sample(heads: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Actions [n, A] of Gaussian policies, given what their last layers gave [n, 2A] and normal draws [n, A]."""
    out = np.empty(draws.shape, np.float32)
    size = draws.shape[1]
    for n in range(draws.shape[0]):
        for j in range(size):
            deviation = np.exp(_MIDDLE + _RANGE * np.tanh(heads[n, size + j]))
            out[n, j] = heads[n, j] + deviation * draws[n, j]
        _activate(out[n], 2)
    return out


class Actor:
    """A population ready to act on one observation per policy."""

    def __init__(self, population: MLP) -> None:
        self._weights = [np.ascontiguousarray(w, np.float32) for w in population.weights]
        self._biases = [np.ascontiguousarray(b, np.float32) for b in population.biases]
        last = len(self._weights) - 1
        self._codes = [_CODES[population.output if k == last else population.hidden] for k in range(last + 1)]

        self._is_gaussian = population.output == "gaussian"

    def act(self, observations: np.ndarray, rows: np.ndarray, draws: np.ndarray | None = None) -> np.ndarray:
        """Return the actions [n, A] of policies `rows` [n] for their observations [n, O]; see `Noise` for `draws`."""
        x = np.ascontiguousarray(observations, np.float32)
        for weight, bias, code in zip(self._weights, self._biases, self._codes, strict=True):
            x = _layer(x, weight, bias, code, rows)
        if self._is_gaussian:
            return _sample(x, np.zeros((len(x), x.shape[1] // 2), np.float32) if draws is None else draws)
        return np.clip(x if draws is None else x + draws, -1.0, 1.0)


class Noise(NamedTuple):
    """Gaussian noise on actions, which are then clipped to [-1, 1].

    For a Gaussian policy it is not added to the action but takes the place of the policy's own draws, in units of its
    standard deviations: with `sigma` 1 it acts as it is meant to while training, with 0 it acts without chance.
    """

    # Standard deviation: one for all episodes, one for each [N], or one for each and every action [N, A].
    sigma: float | np.ndarray = 0.0
    correlation: float = 0.0  # between successive steps: 0 is white noise


NO_NOISE = Noise()


class RollIn(NamedTuple):
    """Guide policies that act first in some episodes, without noise, before the episode's own policy takes over.

    Such episodes may be cut off early, which is then a time limit like any other. Guides are part of the population
    that is played, behind the N policies that have an episode of their own.
    """

    guides: np.ndarray  # [N] int, which policy guides each episode
    steps: np.ndarray  # [N] int, for how long; 0 where nobody does
    limits: np.ndarray  # [N] int, steps after which the episode is cut off; 0 plays to the end

    def acting(self, rows: np.ndarray, t: int) -> np.ndarray:
        """Which policies act at step `t` of the episodes `rows`, alike in shape."""
        return np.where(t < self.steps[rows], self.guides[rows], rows)

    def is_over(self, rows: np.ndarray, t: int) -> np.ndarray:
        """Which of the episodes `rows` are cut off after step `t`."""
        return self.limits[rows] == t + 1


def draw_noise(
    seeds: np.ndarray, noise: Noise, horizon: int, action_size: int, roll_in: RollIn | None = None
) -> np.ndarray | None:
    """Return the action noise of episodes with these reset seeds, [N, horizon, A] float32; None if there is none.

    Guides act without noise, or they would hardly get anywhere.
    """
    sigma = np.asarray(noise.sigma, np.float32)
    sigma = sigma[:, None] if sigma.ndim == 2 else np.broadcast_to(sigma, len(seeds))[:, None, None]
    if not sigma.any():
        return None
    # A stream of its own for every episode: the reset draws from the plain seed.
    draws = np.stack(
        [np.random.default_rng([int(seed), 1]).standard_normal((horizon, action_size), np.float32) for seed in seeds]
    )
    if noise.correlation:
        fresh = np.float32(math.sqrt(1 - noise.correlation**2))
        for t in range(1, horizon):
            draws[:, t] = np.float32(noise.correlation) * draws[:, t - 1] + fresh * draws[:, t]
    if roll_in is not None:
        draws[np.arange(horizon) < roll_in.steps[:, None]] = 0.0
    return sigma * draws
