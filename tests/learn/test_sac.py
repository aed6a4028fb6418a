"""The update against plain SAC in float64 and against automatic differentiation, and the promises of its docstrings."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import plain_sac
import pytest
from test_td3 import assert_close, layers

from qdpg.learn import sac
from qdpg.learn.backprop import forward
from qdpg.learn.discriminator import init_discriminator, skill_reward
from qdpg.learn.networks import apply_mlp, init_mlp
from qdpg.learn.sac import SACSettings, draw_actions, improve, init_agent
from qdpg.memory.replay import Replay
from qdpg.play.player import make_player
from qdpg.tasks.point_maze import PointMaze

# Compiled: one by one, their operations would take ten times as long to compile.
_draw = jax.jit(sac._draw, static_argnames="settings")
update = jax.jit(sac.update, static_argnames="settings")
KEY = jax.random.key(3, impl="rbg")
WORDS = jax.random.bits(KEY, (2,), jnp.uint32)  # what `improve` makes of the key
SETTINGS = SACSettings(batch_size=32, actor_rate=1e-4, critic_rate=1e-4, temperature_rate=1e-3)
SCALE = np.float32(0.5)


def make_agent(settings, skills=0):
    actor = init_mlp(jax.random.key(1), (2 + skills, 16, 8, 4), output="gaussian")
    return init_agent(jax.random.key(2), actor, (4 + skills, 16, 8, 1), settings)


def make_discriminator(skills, seen="descriptor", rate=1e-2):
    return init_discriminator(jax.random.key(4), (2, 16, skills), seen, -np.ones(2), np.ones(2), rate)


def assert_same(one, other):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def skilled():
    """Episodes of three skills, the number of the skill behind each observation."""
    task, population = PointMaze(horizon=50), init_mlp(jax.random.key(0), (2, 8, 2))
    many = jax.tree.map(lambda leaf: np.repeat(leaf[None], 9, axis=0), population)
    rollouts = make_player(task).play(many, np.arange(9))
    labels = np.broadcast_to(np.arange(9, dtype=np.float32)[:, None, None] % 3, (9, 51, 1))
    labelled = np.concatenate([rollouts.observations, labels], axis=2)
    memory = Replay(1000, 3, 2, 2)
    memory.insert(dataclasses.replace(rollouts, observations=labelled))
    return memory


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"discount": 0.9, "start_temperature": 0.2, "entropy_per_action": -0.5, "temperature_rate": 0.0},
        {"optimiser": "sgd", "actor_rate": 1e-2, "critic_rate": 1e-3},
    ],
)
def test_update_equals_plain_sac(replay, changes):
    settings, steps = dataclasses.replace(SETTINGS, **changes), 11
    agent = make_agent(settings)
    improved, nothing = improve(agent, None, replay.view(), SCALE, KEY, 0, steps, settings=settings)
    drawn = [_draw(agent, None, replay.view(), SCALE, WORDS, jnp.int32(i), settings=settings)[:2] for i in range(steps)]
    actor, critics, targets, log_alpha = plain_sac.improve(
        layers(agent.actor), [layers(critic) for critic in agent.critics.online], drawn, settings
    )
    assert nothing is None
    assert_close(improved.actor, actor, "actor")
    for k in (0, 1):
        assert_close(improved.critics.online[k], critics[k], f"critic {k}")
        assert_close(improved.critics.target[k], targets[k], f"target of critic {k}")
    assert float(improved.log_temperature) == pytest.approx(log_alpha, abs=1e-5)
    assert (float(improved.log_temperature) != float(agent.log_temperature)) == bool(settings.temperature_rate)
    moved = np.abs(np.asarray(improved.actor.weights[0] - agent.actor.weights[0])).max()
    assert moved > 1e-5  # the comparison is not between two idle things


def test_actor_step_is_the_gradient_of_its_loss(replay):
    settings = dataclasses.replace(SETTINGS, optimiser="sgd", actor_rate=0.1, critic_rate=0.0, start_temperature=0.3)
    agent = make_agent(settings)
    batch, (now, then), _ = _draw(agent, None, replay.view(), SCALE, WORDS, jnp.int32(0), settings=settings)

    def loss(actor):
        drawn = draw_actions(apply_mlp(actor, batch.observation), now)
        pair = jnp.concatenate([batch.observation, drawn.action], axis=1)
        values = jnp.minimum(*(apply_mlp(critic, pair) for critic in agent.critics.online))
        return (0.3 * drawn.log_probability - values).mean()

    expected = jax.tree.map(lambda p, g: p - 0.1 * g, agent.actor, jax.jit(jax.grad(loss))(agent.actor))
    found = update(agent, batch, (now, then), settings=settings).actor
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_log_probabilities_belong_to_a_density():
    """Over all actions it adds up to one; and it stays finite where the action rounds to one."""
    heads, inner = jnp.array([[0.4, -0.3]]), jnp.linspace(-8.0, 8.0, 20_001)[:, None]
    deviation = math.exp(-1.5 + 3.5 * math.tanh(-0.3))
    drawn = draw_actions(jnp.broadcast_to(heads, (len(inner), 2)), (inner - 0.4) / deviation)
    action, density = np.asarray(drawn.action[:, 0], np.float64), np.exp(np.asarray(drawn.log_probability[:, 0]))
    assert np.trapezoid(density, action) == pytest.approx(1.0, abs=1e-3)
    far = draw_actions(jnp.array([[40.0, 0.0]]), jnp.zeros((1, 1)))
    assert float(far.action[0, 0]) == 1.0
    # For large x, log(1 - tanh(x)²) is log 4 - 2x.
    expected = -0.5 * math.log(2 * math.pi) + 1.5 - (math.log(4) - 80)
    assert float(far.log_probability[0, 0]) == pytest.approx(expected, rel=1e-5)


def test_splitting_does_not_change_it_and_steps_are_not_a_shape(replay):
    agent, view = make_agent(SETTINGS), replay.view()
    whole = improve(agent, None, view, SCALE, KEY, 0, 21, settings=SETTINGS)
    compiled = improve._cache_size()
    part = improve(agent, None, view, SCALE, KEY, 0, 8, settings=SETTINGS)
    assert improve._cache_size() == compiled
    assert_same(whole, improve(*part, view, SCALE, KEY, 8, 13, settings=SETTINGS))
    assert_same(improve(agent, None, view, SCALE, KEY, 0, 0, settings=SETTINGS)[0], agent)


@pytest.mark.long
def test_entropy_reaches_its_target():
    """One-step episodes in which chance costs something: the temperature finds the price at which entropy is −A."""
    rng, number = np.random.default_rng(0), 4000
    memory = Replay(2 * number, 2, 2, 1)
    rows = np.zeros((2 * number, 7), np.float32)
    rows[:, :2] = rng.normal(size=(2 * number, 2))
    rows[:, 2:4] = rng.uniform(-1, 1, (2 * number, 2))
    rows[:, 4] = -3 * ((rows[:, 2:4] - 0.3) ** 2).sum(axis=1)
    memory.insert_rows(rows, np.zeros((2 * number, 1), np.float32), np.arange(2 * number) % 2 == 0)
    memory.index()
    settings = SACSettings(batch_size=64, actor_rate=2e-3, critic_rate=3e-3, temperature_rate=3e-3)
    agent, _ = improve(make_agent(settings), None, memory.view(), np.float32(1), KEY, 0, 4000, settings=settings)
    heads = forward(agent.actor, jnp.asarray(rows[:2000, :2])).output
    drawn = draw_actions(heads, jnp.asarray(rng.standard_normal((2000, 2)), jnp.float32))
    assert -float(drawn.log_probability.mean()) == pytest.approx(-2.0, rel=0.2)
    assert 0 < float(jnp.exp(agent.log_temperature)) < 1
    np.testing.assert_allclose(np.tanh(heads[:, :2]).mean(axis=0), 0.3, atol=0.1)  # and the best action is known


@pytest.mark.parametrize("seen", ["descriptor", "observation"])
def test_skills_are_shown_to_the_policy_and_paid_by_the_discriminator(skilled, seen):
    agent, discriminator = make_agent(SETTINGS, skills=3), make_discriminator(3, seen)
    batch, _, after = _draw(agent, discriminator, skilled.view(), SCALE, WORDS, jnp.int32(0), settings=SETTINGS)
    assert batch.observation.shape == batch.following.shape == (32, 5)
    assert batch.pair.shape == (32, 7)
    np.testing.assert_array_equal(batch.pair[:, :5], batch.observation)
    shown = np.asarray(batch.observation[:, 2:])
    assert set(shown.argmax(axis=1)) == {0, 1, 2}
    np.testing.assert_array_equal(np.sort(shown, axis=1), np.tile([0, 0, 1], (32, 1)))
    np.testing.assert_array_equal(batch.following[:, 2:], shown)
    # In the maze, a state's descriptor and its observation are the same: the place that the step led to.
    expected = skill_reward(discriminator, batch.following[:, :2], jnp.asarray(shown.argmax(axis=1)))
    np.testing.assert_allclose(batch.reward, SCALE * expected, rtol=1e-5)
    assert np.abs(np.asarray(after.network.weights[0] - discriminator.network.weights[0])).max() > 1e-4


@pytest.mark.long
def test_rewards_come_from_the_discriminator_as_it_is(skilled):
    """A second step is paid by what the discriminator has become in the first."""
    agent, first = make_agent(SETTINGS, skills=3), make_discriminator(3, rate=0.5)
    _, _, later = _draw(agent, first, skilled.view(), SCALE, WORDS, jnp.int32(0), settings=SETTINGS)
    rewards = [
        np.asarray(_draw(agent, d, skilled.view(), SCALE, WORDS, jnp.int32(1), settings=SETTINGS)[0].reward)
        for d in (first, later)
    ]
    assert np.abs(rewards[0] - rewards[1]).max() > 0.01
    together = improve(agent, first, skilled.view(), SCALE, KEY, 0, 2, settings=SETTINGS)
    apart = improve(agent, first, skilled.view(), SCALE, KEY, 0, 1, settings=SETTINGS)
    assert_same(together, improve(*apart, skilled.view(), SCALE, KEY, 1, 1, settings=SETTINGS))
