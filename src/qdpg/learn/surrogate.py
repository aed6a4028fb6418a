"""What policies that were not played yet will do, told from those that were: a Gaussian process over actions.

Two policies are alike if they act alike in the same states. So a policy is described by its actions in a few states
that were visited, and what it does in an episode (its behaviour, its fitness) is predicted from those that act nearly
alike. How far likeness reaches, and how much an episode is chance, is what makes the known episodes most likely.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from qdpg.learn.networks import MLP, apply_mlp, repeat_policies

REACHES = (0.25, 0.5, 1.0, 2.0)  # of likeness, in typical distances between the known policies
NOISES = (0.02, 0.1, 0.3, 0.6)  # share of the variance that is chance


class Prediction(NamedTuple):
    """What is expected of m policies."""

    means: np.ndarray  # [m, T]
    deviations: np.ndarray  # [m, T], chance included


@jax.jit
def _act(policies: MLP, states: jax.Array) -> jax.Array:
    return jax.vmap(apply_mlp, (0, None))(policies, states)


def describe(policies: MLP, states: np.ndarray) -> np.ndarray:
    """The clipped actions of n policies in S states, joined, [n, S · A] float64."""
    number = len(policies)
    padded = 1 << (number - 1).bit_length()  # one compiled program for each power of two
    actions = np.asarray(_act(repeat_policies(policies, padded), states), np.float64)[:number]
    return np.clip(actions, -1.0, 1.0).reshape(len(actions), -1)


def predict(known: np.ndarray, targets: np.ndarray, asked: np.ndarray) -> Prediction:
    """Predict what policies will do.

    Args:
        known: [n, F] descriptions of policies that were played.
        targets: [n, T] what they did.
        asked: [m, F] descriptions of others.
    """
    middle, size = targets.mean(axis=0), np.maximum(targets.std(axis=0), 1e-9)
    done, near = (targets - middle) / size, _squares(known, known)
    typical = np.median(near[np.triu_indices(len(known), 1)]) if len(known) > 1 else 1.0
    tries = [_fit(near / max(typical, 1e-12), done, reach, noise) for reach in REACHES for noise in NOISES]
    _, factor, reach, noise = max(tries, key=lambda each: each[0])
    across = np.exp(-_squares(asked, known) / max(typical, 1e-12) / (2 * reach**2)) * (1.0 - noise)
    means = across @ cho_solve((factor, True), done)
    explained = np.square(solve_triangular(factor, across.T, lower=True)).sum(axis=0)
    deviations = np.sqrt(np.maximum(1.0 - explained, noise))
    return Prediction(middle + size * means, size * deviations[:, None])


def _fit(near: np.ndarray, done: np.ndarray, reach: float, noise: float) -> tuple[float, np.ndarray, float, float]:
    """How likely `done` [n, T] is, as a logarithm, with these settings; its Cholesky factor, and the settings."""
    covariance = np.exp(-near / (2 * reach**2)) * (1.0 - noise) + noise * np.eye(len(near))
    factor = cho_factor(covariance, lower=True)[0]
    factor = np.tril(factor)
    fitted = np.square(solve_triangular(factor, done, lower=True)).sum()
    return float(-0.5 * fitted - done.shape[1] * np.log(np.diag(factor)).sum()), factor, reach, noise


def _squares(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Squared distances, [n, m]."""
    lengths = np.square(one).sum(axis=1)[:, None] + np.square(other).sum(axis=1)
    return np.maximum(lengths - 2.0 * one @ other.T, 0.0)
