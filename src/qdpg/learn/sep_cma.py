"""Separable CMA-ES as pure functions: pyribs' own strategy, with its state outside of it.

A strategy is a normal distribution of policies whose parameters vary independently. It is sampled, told how the samples
rank, and moves towards the better half (Ros and Hansen, 2008). pyribs keeps all of it in an object; here that object is
made anew for every call, so that a run can be stored and taken up again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ribs.emitters.opt import SeparableCMAEvolutionStrategy


class Strategy(NamedTuple):
    """A distribution of P parameters, and how it came about; all float64, while samples are float32."""

    mean: np.ndarray  # [P]
    variances: np.ndarray  # [P] of the parameters, before they are multiplied by sigma²
    path: np.ndarray  # [P] the way of the mean lately, for the variances
    scaled_path: np.ndarray  # [P] the same with variances of one, for sigma
    sigma: np.ndarray  # [] step size
    samples: np.ndarray  # [] policies so far


def start_strategy(mean: np.ndarray, sigma: float) -> Strategy:
    """All parameters vary alike around a policy [P]."""
    zeros = np.zeros(len(mean))
    return Strategy(mean.astype(np.float64), zeros + 1.0, zeros, zeros.copy(), np.array(sigma, np.float64), np.array(0))


def sample(strategy: Strategy, number: int, seed: int) -> np.ndarray:
    """Draw policies, [number, P]."""
    return np.array(_revive(strategy, number, seed).ask())


def update(strategy: Strategy, seed: int, values: np.ndarray) -> tuple[Strategy, bool]:
    """Move towards the better half of what was sampled with this seed.

    Args:
        strategy: As it was when it was sampled.
        seed: What it was sampled with.
        values: [n] how good each sample was; only their order counts.

    Returns:
        The strategy, and whether it has come to an end: it varies too little, or all samples are equally good.
    """
    alive = _revive(strategy, len(values), seed)
    alive.ask()
    order = np.argsort(-values, kind="stable")
    alive.tell(order, values, len(values) // 2)
    counts = np.array(alive.sigma, np.float64), np.array(alive.current_eval)
    after = Strategy(alive.mean, alive.cov.cov, alive.pc, alive.ps, *counts)
    return after, bool(alive.check_stop(values[order]))


def _revive(strategy: Strategy, number: int, seed: int) -> SeparableCMAEvolutionStrategy:
    """Pyribs' object in this state."""
    alive = SeparableCMAEvolutionStrategy(float(strategy.sigma), len(strategy.mean), number, seed, np.float32)
    alive.reset(strategy.mean)
    alive.mean, alive.cov.cov = strategy.mean, strategy.variances
    alive.pc, alive.ps = strategy.path, strategy.scaled_path
    alive.sigma, alive.current_eval = float(strategy.sigma), int(strategy.samples)
    return alive
