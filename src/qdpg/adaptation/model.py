"""What the scores of a few tried elites say about all others: a Gaussian process over behaviours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from qdpg.errors import UserError
from qdpg.ranges import NotNegative, Positive
from qdpg.runs.collection import Collection


@dataclass(frozen=True)
class Settings:
    """How the next elite to try is chosen. The paper says none of it (docs/fidelity.md).

    Attributes:
        prior: What an elite is expected to score before anything near it was tried: the mean of all scores so far
            ("mean"), or its stored fitness ("fitness"), which suits a body that changed rather than a goal.
        nu: Smoothness of the Matérn kernel: 0.5, 1.5 or 2.5.
        length_scales: How far one score tells about others, in shares of the descriptors' range; taken in turn from
            trial to trial. A long one finds the right region, a short one the best elite in it. They are not fitted:
            the likelihood of a few scores prefers short ones, and then the search stays near what it knows.
        fitness_weight: How much elites differ by their stored fitness, beside their descriptors: this share of the
            descriptors' range from the worst to the best. Of two elites that end in the same place, one may have gone
            straight there and the other in circles; their stored fitness tells them apart.
        way_weight: How much they differ by where they were on average on their way, if that is given, in the same unit.
            An elite may pass a goal on its way to somewhere else.
        noise: Variance of a score from episode to episode, as a share of the scores' own variance.
        acquisition: What the next elite must have most of: "ucb" (expected score + kappa · standard deviation) or "ei"
            (expected improvement over the best tried elite).
        kappa: Weight of the standard deviation in "ucb"; higher explores more.
    """

    prior: Literal["mean", "fitness"] = "mean"
    nu: Positive = 2.5
    length_scales: tuple[Positive, ...] = (0.1, 0.2, 0.6)
    fitness_weight: NotNegative = 1.0
    way_weight: NotNegative = 1.0
    noise: Positive = 0.01
    acquisition: Literal["ucb", "ei"] = "ucb"
    kappa: NotNegative = 1.0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.nu not in (0.5, 1.5, 2.5):
            raise UserError(f"the adaptation's nu is {self.nu}, but must be 0.5, 1.5 or 2.5.")
        if not (self.length_scales and min(self.length_scales) > 0 and self.noise > 0):
            raise UserError(
                "the adaptation's length_scales and noise must be positive, and there must be a length scale."
            )
        if not min(self.fitness_weight, self.way_weight, self.kappa) >= 0:
            raise UserError("the adaptation's fitness_weight, way_weight and kappa must not be negative.")


def features(collection: Collection, settings: Settings, ways: np.ndarray | None = None) -> np.ndarray:
    """What the model tells elites apart by, [N, F].

    First come the D descriptors, in shares of their range; then the weighted way, if given; then the weighted fitness.

    Args:
        collection: N elites.
        settings: The weights.
        ways: [N, D], mean descriptors along each elite's way.
    """
    spec, fitness = collection.spec, collection.fitness
    low, high = np.array(spec.descriptor_low), np.array(spec.descriptor_high)
    rank = (fitness - fitness.min()) / (np.ptp(fitness) or 1.0)
    between = [] if ways is None else [settings.way_weight * (ways - low) / (high - low)]
    return np.column_stack([(collection.behaviours - low) / (high - low), *between, settings.fitness_weight * rank])


def predict(
    places: np.ndarray, prior: np.ndarray, tried: np.ndarray, scores: np.ndarray, settings: Settings
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """What the model believes of each elite: means [N] and deviations [N], then the unit and the zero they count from.

    Arguments are those of `desirability`.
    """
    known = scores - prior[tried]
    scale = known.std() or 1.0  # the unit in which the process and the acquisition count
    surprise = (known - known.mean()) / scale
    length_scale = settings.length_scales[(len(tried) - 1) % len(settings.length_scales)]
    kernel = Matern(length_scale, length_scale_bounds="fixed", nu=settings.nu)  # of unit variance
    process = GaussianProcessRegressor(kernel, alpha=settings.noise, optimizer=None).fit(places[tried], surprise)
    mean, deviation = process.predict(places, return_std=True)
    mean += (prior - prior.mean()) / scale
    return mean, np.maximum(deviation, 1e-9), float(scale), float(known.mean() + prior.mean())


def desirability(
    places: np.ndarray, prior: np.ndarray, tried: np.ndarray, scores: np.ndarray, settings: Settings
) -> np.ndarray:
    """Return how much each elite is worth trying next, [N].

    Args:
        places: [N, F], what the elites are told apart by, see `features`.
        prior: [N], expected scores, up to a common constant.
        tried: [n] int, the elites tried so far.
        scores: [n], what they scored.
        settings: The model.
    """
    mean, deviation, *_ = predict(places, prior, tried, scores, settings)
    if settings.acquisition == "ucb":
        return mean + settings.kappa * deviation
    above = mean - mean[tried].max()
    return above * norm.cdf(above / deviation) + deviation * norm.pdf(above / deviation)
