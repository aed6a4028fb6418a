"""Gradient-free variation of policies."""

from __future__ import annotations

import jax
import numpy as np

from qdpg.learn.networks import MLP, flatten_population, unflatten_population


def iso_line(parents: MLP, others: MLP, rng: np.random.Generator, iso_sigma: float, line_sigma: float) -> MLP:
    """Iso+line variation (Vassiliades and Mouret, 2018): x_i + σ1·N(0, I) + σ2·N(0, 1)·(x_j − x_i).

    Args:
        parents: n policies x_i.
        others: n policies x_j.
        rng: Where the draws come from; one scalar line draw per offspring.
        iso_sigma: σ1.
        line_sigma: σ2.
    """
    x, y = flatten_population(parents), flatten_population(others)
    isotropic = rng.standard_normal(x.shape, np.float32)
    line = rng.standard_normal((len(x), 1), np.float32)
    child = x + np.float32(iso_sigma) * isotropic + np.float32(line_sigma) * line * (y - x)
    return unflatten_population(child, jax.tree.map(lambda leaf: leaf[0], parents))
