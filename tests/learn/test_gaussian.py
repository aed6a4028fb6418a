import jax
import numpy as np
import pytest
from scipy import integrate, stats

from qdpg.learn.gaussian import Gaussian, divergence, entropy, init_gaussian, log_density
from qdpg.learn.networks import apply_mlp


@pytest.fixture
def policy():
    drawn = init_gaussian(jax.random.key(0), (3, 8, 2), 0.5)
    return Gaussian(drawn.mean, np.log(np.array([0.5, 2.0], np.float32)))


def test_starts_with_the_given_deviation():
    np.testing.assert_allclose(np.exp(init_gaussian(jax.random.key(0), (3, 8, 2), 0.3).log_std), [0.3, 0.3], rtol=1e-6)


def test_density_and_entropy_are_those_of_independent_normals(policy):
    rng = np.random.default_rng(0)
    inputs, actions = rng.normal(size=(20, 3)).astype(np.float32), rng.normal(size=(20, 2)).astype(np.float32)
    normal = stats.norm(np.asarray(apply_mlp(policy.mean, inputs)), [0.5, 2.0])
    np.testing.assert_allclose(log_density(policy, inputs, actions), normal.logpdf(actions).sum(axis=1), rtol=1e-5)
    assert float(entropy(policy)) == pytest.approx(normal.entropy()[0].sum(), rel=1e-6)


def test_divergence_is_the_integral():
    first, second = stats.norm(0.3, 0.5), stats.norm(-0.4, 2.0)
    apart, _ = integrate.quad(lambda x: first.pdf(x) * (first.logpdf(x) - second.logpdf(x)), -8, 8)
    means, stds = np.array([0.3, 0.3], np.float32), np.log(np.array([0.5, 0.5], np.float32))
    other_means, other_stds = np.array([-0.4, 0.3], np.float32), np.log(np.array([2.0, 0.5], np.float32))
    # The second action is distributed alike, and adds nothing.
    assert float(divergence(means, stds, other_means, other_stds)) == pytest.approx(apart, rel=1e-5)
