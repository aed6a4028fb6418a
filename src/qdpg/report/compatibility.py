"""The theory of the diversity policy gradient as tools: Proposition 1 and the compatibility condition (equation 3).

Proposition 1: where one solution should go for the sake of the whole set's diversity (equation 1) is where its own
novelty grows. Equation 3: this novelty is the sum of the novelties of the states that the solution visits. In practice,
says the paper, a positive correlation between the two sides is enough; `compatibility` measures it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from qdpg.later import later

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = later("jax"), later("jax.numpy")

ENOUGH = 10  # episodes below which a correlation says nothing
STRONG, WEAK = 0.5, 0.1  # least correlations that are called so


class Compatibility(TypedDict):
    """How well novelty along trajectories goes with novelty of solutions. Correlations are NaN when undefined."""

    pearson: float
    spearman: float
    episodes: int
    verdict: str


def diversity(behaviours: jax.Array) -> jax.Array:
    """Sum over solutions of the distance to the nearest other one (equation 1), [].

    Args:
        behaviours: ξ of K ≥ 2 solutions, [K, D].
    """
    return _distances(behaviours).min(axis=1).sum()


def novelty(behaviours: jax.Array, i: int) -> jax.Array:
    """How novel solution `i` is with respect to its nearest elements (Proposition 1), [].

    The distance to its nearest neighbour, plus the distances to all those whose nearest neighbour it is. Two that are
    nearest to each other count twice, as the paper's footnote has it.

    Args:
        behaviours: ξ of K ≥ 2 solutions, [K, D].
        i: Which solution.
    """
    distances = _distances(behaviours)
    nearest = distances.argmin(axis=1)
    return distances[i, nearest[i]] + jnp.where(nearest == i, distances[i], 0.0).sum()


def _distances(behaviours: jax.Array) -> jax.Array:
    """All distances [K, K], infinite from a solution to itself; the gradient between equal behaviours is zero."""
    squares = jnp.square(behaviours[:, None] - behaviours).sum(axis=-1)
    distances = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)
    return jnp.where(jnp.eye(len(behaviours), dtype=bool), jnp.inf, distances)


def compatibility(state_novelty: np.ndarray, solution_novelty: np.ndarray) -> Compatibility:
    """Correlate the two sides of equation 3 over episodes, by amount (Pearson) and by rank (Spearman).

    Args:
        state_novelty: Novelty summed along each episode's trajectory, [E]. Pairs that are not finite are left out.
        solution_novelty: Novelty of each episode's behaviour ξ among the solutions, [E].
    """
    pairs = np.stack([np.asarray(state_novelty, np.float64), np.asarray(solution_novelty, np.float64)])
    pairs = pairs[:, np.isfinite(pairs).all(axis=0)]
    episodes = pairs.shape[1]
    varied = episodes > 0 and bool((np.ptp(pairs, axis=1) > 1e-12 * np.abs(pairs).max(axis=1)).all())
    pearson, spearman = np.nan, np.nan
    if varied:
        pearson, spearman = _correlate(pairs), _correlate(np.stack([_ranks(row) for row in pairs]))
    verdict = _verdict(pearson, spearman, episodes)
    return Compatibility(pearson=pearson, spearman=spearman, episodes=episodes, verdict=verdict)


def _ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value, [E], from 1; equal ones share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def _correlate(pairs: np.ndarray) -> float:
    """Pearson's correlation between the two rows of `pairs` [2, E]."""
    x, y = pairs / np.abs(pairs).max(axis=1, keepdims=True)  # so that squares neither overflow nor vanish
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def _verdict(pearson: float, spearman: float, episodes: int) -> str:
    """Say in one sentence what two correlations over so many episodes mean."""
    if episodes < ENOUGH:
        return f"Not enough episodes to tell: {episodes} with both novelties, {ENOUGH} are needed."
    if np.isnan(pearson):
        return "Constant: one of the two novelties is the same in all episodes, so there is nothing to correlate."
    # Unrelated numbers correlate by chance; twice their standard deviation is hardly ever exceeded.
    chance, least, most = max(WEAK, 2 / np.sqrt(episodes)), min(pearson, spearman), max(pearson, spearman)
    if least >= chance:
        strength = "Strong" if least >= STRONG else "Weak"
        return f"{strength}: solutions that visit novel states are novel, as the diversity gradient assumes."
    if most >= chance and least > -chance:
        why = "a few very novel episodes agree, most do not" if pearson > spearman else "ranks agree, amounts do not"
        return f"Weak: {why}."
    if least <= -chance and most < chance:
        return "Negative: solutions that visit novel states are less novel, so ψ and ξ do not fit together."
    return "No correlation: the novelty of the visited states says nothing about the novelty of the solution."
