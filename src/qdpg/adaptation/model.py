"""What the scores of a few tried elites say about all others: a Gaussian process over behaviours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from qdpg.errors import UserError


@dataclass(frozen=True)
class Settings:
    """How the next elite to try is chosen. The paper says none of it (docs/fidelity.md).

    Attributes:
        prior: What an elite is expected to score before anything near it was tried: the mean of all scores so far
            ("mean"), or its stored fitness ("fitness"), which suits a body that changed rather than a goal.
        nu: Smoothness of the Matérn kernel: 0.5, 1.5 or 2.5.
        length_scale: How far one score tells about others, in shares of the descriptors' range. It is not fitted: the
            likelihood of a few scores prefers short ones, and then the search stays near what it knows.
        noise: Variance of a score from episode to episode, as a share of the scores' own variance.
        acquisition: What the next elite must have most of: "ucb" (expected score + kappa · standard deviation) or "ei"
            (expected improvement over the best tried elite).
        kappa: Weight of the standard deviation in "ucb".
    """

    prior: Literal["mean", "fitness"] = "mean"
    nu: float = 2.5
    length_scale: float = 0.4
    noise: float = 0.01
    acquisition: Literal["ucb", "ei"] = "ucb"
    kappa: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.nu not in (0.5, 1.5, 2.5):
            raise UserError(f"the adaptation's nu is {self.nu}, but must be 0.5, 1.5 or 2.5.")
        if not (self.length_scale > 0 and self.noise > 0):
            raise UserError("the adaptation's length_scale and noise must be positive.")
        if not self.kappa >= 0:
            raise UserError(f"the adaptation's kappa is {self.kappa}, but must not be negative.")


def desirability(
    places: np.ndarray, prior: np.ndarray, tried: np.ndarray, scores: np.ndarray, settings: Settings
) -> np.ndarray:
    """Return how much each elite is worth trying next, [N].

    Args:
        places: [N, D], behaviours, brought to [0, 1] by the descriptors' range.
        prior: [N], expected scores, up to a common constant.
        tried: [n] int, the elites tried so far.
        scores: [n], what they scored.
        settings: The model.
    """
    known = scores - prior[tried]
    scale = known.std() or 1.0  # the unit in which the process and the acquisition count
    surprise = (known - known.mean()) / scale
    kernel = Matern(settings.length_scale, length_scale_bounds="fixed", nu=settings.nu)  # of unit variance
    process = GaussianProcessRegressor(kernel, alpha=settings.noise, optimizer=None).fit(places[tried], surprise)
    mean, deviation = process.predict(places, return_std=True)
    mean += (prior - prior.mean()) / scale
    deviation = np.maximum(deviation, 1e-9)
    if settings.acquisition == "ucb":
        return mean + settings.kappa * deviation
    above = mean - mean[tried].max()
    return above * norm.cdf(above / deviation) + deviation * norm.pdf(above / deviation)
