import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qdpg.learn import discriminator as module
from qdpg.learn.discriminator import init_discriminator, log_probabilities, skill_reward
from qdpg.learn.networks import apply_mlp

KEY = jax.random.key(0)
update_discriminator = jax.jit(module.update_discriminator)


def make(skills, rate=1e-2, bound=1.0):
    return init_discriminator(KEY, (2, 16, skills), "descriptor", np.full(2, -bound), np.full(2, bound), rate)


def places(skills, seed=0):
    """States around K places, and whose they are."""
    rng = np.random.default_rng(seed)
    whose = rng.integers(skills, size=400)
    angle = 2 * np.pi * whose / skills
    states = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.1 * rng.standard_normal((400, 2))
    return jnp.asarray(states, jnp.float32), jnp.asarray(whose, jnp.int32)


@pytest.mark.parametrize("skills", [2, 5, 50])
def test_reward_is_at_most_log_k(skills):
    discriminator, (states, whose) = make(skills), places(skills)
    before = skill_reward(discriminator, states, whose)
    for _ in range(300):
        discriminator = update_discriminator(discriminator, states, whose)
    after = skill_reward(discriminator, states, whose)
    assert max(before.max(), after.max()) <= math.log(skills)
    assert abs(before.mean()) < 0.5  # log p(z) is taken off: who knows nothing gives nothing
    assert after.mean() > 0.5 * math.log(skills)


def test_one_skill_is_never_paid():
    discriminator, (states, whose) = make(1), places(1)
    np.testing.assert_array_equal(skill_reward(discriminator, states, whose), np.zeros(400))
    trained = update_discriminator(discriminator, states, whose)
    np.testing.assert_array_equal(skill_reward(trained, states, whose), np.zeros(400))


def test_reward_is_log_q_minus_log_p():
    discriminator, (states, whose) = make(3), places(3)
    logits = np.asarray(apply_mlp(discriminator.network, states), np.float64)
    q = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = np.log(q[np.arange(400), whose]) - np.log(1 / 3)
    np.testing.assert_allclose(skill_reward(discriminator, states, whose), expected, atol=1e-5)
    np.testing.assert_allclose(np.exp(log_probabilities(discriminator, states)).sum(axis=1), 1, atol=1e-5)


def test_step_is_the_gradient_of_the_cross_entropy():
    """The first step of Adam is the sign of the gradient, times the rate."""
    discriminator, (states, whose) = make(4, rate=1e-3), places(4)

    def loss(network):
        return -jnp.take_along_axis(jax.nn.log_softmax(apply_mlp(network, states)), whose[:, None], axis=1).mean()

    gradient = jax.jit(jax.grad(loss))(discriminator.network)
    after = update_discriminator(discriminator, states, whose).network
    for before, new, slope in zip(*map(jax.tree.leaves, (discriminator.network, after, gradient)), strict=True):
        steep = np.abs(slope) > 1e-4
        assert steep.any()
        np.testing.assert_allclose((before - new)[steep], 1e-3 * np.sign(slope)[steep], atol=2e-5)


def test_inputs_are_scaled_to_their_bounds():
    near, far = make(3), make(3, bound=40.0)
    states, _ = places(3)
    np.testing.assert_allclose(log_probabilities(far, 40 * states), log_probabilities(near, states), atol=1e-5)
