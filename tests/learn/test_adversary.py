import jax
import numpy as np
import pytest

from qdpg.learn.adversary import imitate, init_adversary, surprise
from qdpg.learn.networks import apply_mlp
from qdpg.learn.ppo import Experience, PPOSettings, draw_order, init_learner, make_experience

SETTINGS = PPOSettings(batch_size=64, epochs=50)
STEPS = {"rate": 3e-3, "gradient_clip": 0.5}


@pytest.fixture(scope="module")
def learner():
    return init_learner(jax.random.key(0), (3, 32, 32, 2), 0.6, SETTINGS)


@pytest.fixture(scope="module")
def experience(learner) -> Experience:
    rng = np.random.default_rng(0)
    shapes = ((4, 65, 3), (4, 64, 2), (4, 64))
    arrays = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    return make_experience(learner, *arrays, np.full(4, 64), np.zeros(4, bool), settings=SETTINGS)


def test_it_learns_to_predict_a_policy_that_stays_as_it_is(learner, experience):
    adversary, log_std = init_adversary(jax.random.key(1), (3, 32, 32, 2), 1.0, **STEPS), learner.policy.log_std
    inputs = experience.observations
    order, steps = draw_order(np.random.default_rng(0), np.arange(256), 256, SETTINGS)
    assert steps == 200
    after = imitate(adversary, experience.means, log_std, inputs, order, steps, weight=1.0, **STEPS)
    before, now = (surprise(each, experience, log_std, inputs) for each in (adversary, after))
    assert before.divergence.shape == before.excess.shape == (256,)
    assert now.divergence.mean() < before.divergence.mean() / 10
    assert abs(now.excess.mean()) < abs(before.excess.mean()) / 5


def test_its_own_copy_does_not_surprise_it(learner, experience):
    adversary = init_adversary(jax.random.key(1), (3, 32, 32, 2), 1.0, **STEPS)._replace(policy=learner.policy)
    found = surprise(adversary, experience, learner.policy.log_std, experience.observations)
    np.testing.assert_allclose(found.excess, 0, atol=1e-5)
    np.testing.assert_allclose(found.divergence, 0, atol=1e-6)


def test_the_mean_excess_of_drawn_actions_is_the_divergence(learner):
    draws = np.random.default_rng(2).standard_normal((1, 40_000, 2), np.float32)
    observations = np.ones((1, 40_001, 3), np.float32)
    many = make_experience(
        learner, observations, draws, np.zeros((1, 40_000), np.float32), np.array([40_000]), np.array([False]),
        settings=SETTINGS,
    )  # fmt: skip
    adversary = init_adversary(jax.random.key(1), (3, 8, 2), 0.9, **STEPS)
    found = surprise(adversary, many, learner.policy.log_std, many.observations)
    assert float(found.excess.mean()) == pytest.approx(float(found.divergence[0]), rel=0.03)


def test_the_weight_matters_only_where_gradients_are_near_epsilon(learner, experience):
    """With the published weight of 4·10⁻⁵ the adversary is slower than its rate says."""
    adversary, inputs = init_adversary(jax.random.key(1), (3, 32, 32, 2), 1.0, **STEPS), experience.observations
    order, _ = draw_order(np.random.default_rng(0), np.arange(256), 256, SETTINGS)
    start = np.asarray(apply_mlp(adversary.policy.mean, inputs))

    def moved(weight):
        after = imitate(adversary, experience.means, learner.policy.log_std, inputs, order, 4, weight=weight, **STEPS)
        return np.abs(np.asarray(apply_mlp(after.policy.mean, inputs)) - start).mean()

    assert moved(1.0) == pytest.approx(moved(0.5), rel=0.1)
    assert 0 < moved(4e-5) < 0.7 * moved(1.0)
