from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qdpg.report.compatibility import compatibility, diversity, novelty

# 0 is the nearest neighbour of 2 and 3; its own nearest is 1, which is closer to 4.
SET = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5], [-2.0, 0.0], [1.5, 0.0]])


@jax.jit
def gradients(behaviours: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Those of diversity and of each solution's novelty with respect to its own behaviour, [K, D] each."""
    of_novelty = jax.vmap(lambda i: jax.grad(novelty)(behaviours, i)[i])(jnp.arange(len(behaviours)))
    return jax.grad(diversity)(behaviours), of_novelty


def test_diversity_sums_distances_to_nearest_neighbours() -> None:
    assert diversity(jnp.array(SET)) == pytest.approx(1 + 0.5 + 1.5 + 2 + 0.5)


def test_novelty_counts_the_nearest_and_those_it_is_nearest_to() -> None:
    assert novelty(jnp.array(SET), 0) == pytest.approx(1 + 1.5 + 2)
    assert novelty(jnp.array(SET), 1) == pytest.approx(0.5 + 0.5 + 1), "4 counts twice; 0 has it as its nearest"
    assert novelty(jnp.array(SET), 3) == pytest.approx(2), "nobody's nearest"


@pytest.mark.parametrize(("number", "size"), [(2, 1), (5, 2), (30, 3)])
def test_proposition_1_their_gradients_agree(number: int, size: int) -> None:
    for seed in range(5):
        of_diversity, of_novelty = gradients(jax.random.normal(jax.random.key(seed), (number, size)))
        assert np.abs(of_diversity).max() > 0.9
        np.testing.assert_allclose(of_novelty, of_diversity, atol=1e-5)


def test_other_sets_of_neighbours_give_other_gradients() -> None:
    of_diversity, of_novelty = (np.asarray(gradient[0]) for gradient in gradients(jnp.array(SET)))
    np.testing.assert_allclose(of_novelty, of_diversity, atol=1e-6)
    np.testing.assert_allclose(of_diversity, [-1 + 1, -1], atol=1e-6)  # away from 1, from 3 and from 2

    for wrong in ([1], [2, 3], [1, 2], [1, 2, 3, 4], [1, 1, 2, 3]):
        away = SET[0] - SET[wrong]
        gradient = (away / np.linalg.norm(away, axis=1, keepdims=True)).sum(axis=0)
        assert np.abs(gradient - of_diversity).max() > 0.4, wrong


def test_equal_behaviours_have_finite_gradients() -> None:
    behaviours = jnp.zeros((3, 2))
    assert diversity(behaviours) == 0
    assert np.isfinite(gradients(behaviours)).all()


def test_correlations_are_those_of_the_textbook() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200)
    found = compatibility(x, y)
    assert found["pearson"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    ranks = np.argsort(np.argsort(x)), np.argsort(np.argsort(y))
    assert found["spearman"] == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert found["episodes"] == 200
    ties = compatibility(np.repeat([1.0, 2.0, 3.0], 4), np.repeat([0.0, 0.0, 9.0], 4))
    assert ties["spearman"] == pytest.approx(np.corrcoef([1, 2, 3], [1.5, 1.5, 3])[0, 1])


def test_pairs_that_are_not_finite_are_left_out() -> None:
    x = np.arange(20.0)
    y = 1e200 * x**3
    x[3], y[5], y[6] = np.nan, np.inf, np.nan
    found = compatibility(x, y)
    assert found["episodes"] == 17
    assert found["spearman"] == pytest.approx(1.0)
    assert 0.8 < found["pearson"] < 1.0, "no overflow"


def test_verdict_in_words() -> None:
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=(2, 400))
    one = np.where(np.arange(400) == np.abs(x).argmin(), 1e6, x)
    for y, expected in (
        (x, "Strong: "),
        (x + 3 * noise, "Weak: solutions"),
        (noise, "No correlation: "),
        (-x, "Negative: "),
        (one, "Weak: ranks agree, amounts do not."),
        (np.full(400, 2.5), "Constant: "),
        (np.full(400, np.nan), "Not enough episodes to tell: 0 "),
    ):
        assert compatibility(x, y)["verdict"].startswith(expected)
    novel = 100 * (np.arange(400) < 2)
    assert compatibility(x + novel, noise + novel)["verdict"] == "Weak: a few very novel episodes agree, most do not."
    assert compatibility(x[:9], x[:9])["verdict"].startswith("Not enough episodes to tell: 9 ")
    assert compatibility(x[:12], (x + 3 * noise)[:12])["verdict"].startswith("No correlation"), "may be chance"


def test_undefined_correlations_are_not_numbers() -> None:
    for x, y in ((np.zeros(20), np.arange(20.0)), (np.zeros(0), np.zeros(0)), (np.ones(1), np.ones(1))):
        found = compatibility(x, y)
        assert np.isnan(found["pearson"])
        assert np.isnan(found["spearman"])
        assert found["verdict"].endswith(".")
