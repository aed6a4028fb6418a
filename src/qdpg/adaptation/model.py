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
        length_scales: How far one score tells about others, in shares of the descriptors' range; the one under which
            the scores so far are likeliest is taken, anew in every trial.
        noise: Variance of a score from episode to episode, as a share of the scores' own variance.
        acquisition: What the next elite must have most of: "ei" (expected improvement over the best score so far) or
            "ucb" (expected score + kappa · standard deviation).
        kappa: Weight of the standard deviation in "ucb".
    """

    prior: Literal["mean", "fitness"] = "mean"
    nu: float = 2.5
    length_scales: tuple[float, ...] = (0.1, 0.2, 0.4, 0.8)
    noise: float = 0.01
    acquisition: Literal["ei", "ucb"] = "ei"
    kappa: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.nu not in (0.5, 1.5, 2.5):
            raise UserError(f"the adaptation's nu is {self.nu}, but must be 0.5, 1.5 or 2.5.")
        if not self.length_scales or not min(self.length_scales) > 0:
            raise UserError(f"the adaptation's length_scales are {self.length_scales}, but must be positive.")
        if not self.noise > 0 or not self.kappa >= 0:
            raise UserError("the adaptation's noise must be positive, and kappa not negative.")


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
    process = max(
        (_fit(places[tried], surprise, scale_of, settings) for scale_of in settings.length_scales),
        key=lambda fitted: fitted.log_marginal_likelihood_value_,
    )
    mean, deviation = process.predict(places, return_std=True)
    mean += (prior - prior.mean()) / scale
    deviation = np.maximum(deviation, 1e-9)
    if settings.acquisition == "ucb":
        return mean + settings.kappa * deviation
    above = mean - mean[tried].max()
    return above * norm.cdf(above / deviation) + deviation * norm.pdf(above / deviation)


def _fit(places: np.ndarray, values: np.ndarray, length_scale: float, settings: Settings) -> GaussianProcessRegressor:
    """A process of unit variance with nothing left to optimise."""
    kernel = Matern(length_scale, length_scale_bounds="fixed", nu=settings.nu)
    return GaussianProcessRegressor(kernel, alpha=settings.noise, optimizer=None).fit(places, values)
