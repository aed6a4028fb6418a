"""The core of the evolution strategies against theory, and against itself in pieces."""

import numpy as np
import pytest

from qdpg.learn.es import Source, ascend, blend_ranks, centred_ranks, estimate_gradient, init_optimiser, perturb
from qdpg.learn.networks import init_mlp, unflatten_population


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.mark.parametrize("generation", range(3))
@pytest.mark.parametrize(("size", "expected", "spread"), [(100, 0.913, 0.03), (1000, 0.577, 0.06)])
def test_gradient_of_a_linear_function_points_as_theory_says(size, expected, spread, generation):
    """The cosine with the true gradient is √(n / (n + d)) for n pairs in d dimensions."""
    truth, source = np.random.default_rng(0).normal(size=size), Source(7, generation)
    scores = perturb(np.ones(size, np.float32), 0.02, source, range(500)) @ truth
    gradient = estimate_gradient(centred_ranks(scores), source, size)
    assert cosine(gradient, truth) == pytest.approx(expected, abs=spread)


def test_leaves_of_equal_shape_get_unrelated_noise():
    """Correlated layers would leave the gradient fewer dimensions than the policy has."""
    import jax

    template = init_mlp(jax.random.key(0), (30, 30, 30, 30))
    vectors = np.stack([Source(0, 1).draw(index, sum(x.size for x in jax.tree.leaves(template))) for index in range(4)])
    leaves = [leaf.reshape(4, -1) for leaf in unflatten_population(vectors, template).weights]
    for one, other in [(0, 1), (1, 2), (0, 2)]:
        assert abs(np.corrcoef(leaves[one].ravel(), leaves[other].ravel())[0, 1]) < 0.05
    assert vectors.std() == pytest.approx(1, abs=0.02)
    assert vectors.mean() == pytest.approx(0, abs=0.02)


def test_noise_depends_on_seed_generation_and_index_and_on_nothing_else():
    base = Source(1, 2).draw(3, 50)
    np.testing.assert_array_equal(Source(1, 2).draw(3, 50), base)
    for other in (Source(2, 2).draw(3, 50), Source(1, 3).draw(3, 50), Source(1, 2).draw(4, 50)):
        assert abs(np.corrcoef(base, other)[0, 1]) < 0.5
        assert not np.isin(other, base).any()


def test_perturbations_are_mirrored_and_may_be_drawn_in_pieces():
    centre = np.arange(40, dtype=np.float32)
    whole = perturb(centre, 0.5, Source(0, 1), range(7))
    pieces = [perturb(centre, 0.5, Source(0, 1), range(*bounds)) for bounds in ((0, 3), (3, 7))]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
    np.testing.assert_allclose((whole[0::2] + whole[1::2]) / 2, np.tile(centre, (7, 1)), atol=1e-5)
    np.testing.assert_allclose(whole[2] - centre, 0.5 * Source(0, 1).draw(1, 40), atol=1e-5)


def test_ranks_are_centred_and_ties_share_theirs():
    assert centred_ranks(np.array([3.0, -10.0, 7.0])).tolist() == [0.0, -0.5, 0.5]
    assert centred_ranks(np.zeros(4)).tolist() == [0.0] * 4
    assert centred_ranks(np.array([5.0, 5.0, 9.0])).tolist() == [-0.25, -0.25, 0.5]
    novelty, fitness = np.array([0.0, 1.0, 2.0]), np.array([30.0, 20.0, 10.0])
    assert blend_ranks(novelty, fitness, 0.0).tolist() == [-0.5, 0.0, 0.5]
    assert blend_ranks(novelty, fitness, 1.0).tolist() == [0.5, 0.0, -0.5]
    assert blend_ranks(novelty, fitness, 0.5).tolist() == [0.0] * 3


def test_a_step_is_adams():
    """The first step of Adam has the size of the learning rate, whatever the gradient's."""
    centre, gradient = np.array([1.0, -2.0, 0.0], np.float32), np.array([100.0, -1e-3, 0.0])
    moved, optimiser = ascend(centre, gradient, init_optimiser(centre), rate=0.1, decay=0.0)
    np.testing.assert_allclose(moved, [1.1, -2.1, 0.0], atol=1e-5)
    assert int(optimiser.count) == 1
    decayed, _ = ascend(centre, np.zeros(3), init_optimiser(centre), rate=0.1, decay=0.005)
    np.testing.assert_allclose(decayed, [0.9, -1.9, 0.0], atol=1e-5)  # towards zero


def test_climbs_a_sphere():
    centre = np.full(20, 2.0, np.float32)
    optimiser = init_optimiser(centre)
    for generation in range(150):
        source = Source(0, generation)
        scores = -(perturb(centre, 0.05, source, range(30)) ** 2).sum(axis=1)
        gradient = estimate_gradient(centred_ranks(scores), source, 20)
        centre, optimiser = ascend(centre, gradient, optimiser, rate=0.05, decay=0.0)
    assert np.linalg.norm(centre) < 0.5  # from 8.9
