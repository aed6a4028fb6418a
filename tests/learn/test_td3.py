"""The engine against plain TD3 in float64, and the promises that its docstrings make."""

import functools
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import plain_td3
import pytest

from qdpg.learn.backprop import forward
from qdpg.learn.networks import MLP, apply_mlp, init_population
from qdpg.learn.td3 import (
    Batch,
    Pull,
    TD3Settings,
    _draw,
    draw_directions,
    draw_slots,
    gain,
    improve,
    init_actors,
    init_critics,
    update_actors,
)
from qdpg.memory.replay import CONTINUES, NOVELTY, Replay
from qdpg.play.acting import Noise
from qdpg.play.player import make_player
from qdpg.tasks.point_maze import PointMaze

SIZES, CRITIC_SIZES = (2, 16, 8, 2), (4, 16, 8, 1)
KEY = jax.random.key(3, impl="rbg")
WORDS = jax.random.bits(KEY, (2,), jnp.uint32)  # what `improve` makes of the key
QUALITY = jnp.array([1.0, 0.0])


@pytest.fixture(scope="module")
def replay():
    """Real episodes, some of which end in the goal zone (which stands in the way here)."""
    task = PointMaze(goal=(0.0, -0.75))
    population = init_population(jax.random.key(0), 40, SIZES)
    rollouts = make_player(task).play(population, np.arange(40), noise=Noise(0.3))
    assert rollouts.terminated.any()
    memory = Replay(10_000, 2, 2, 2)
    memory.insert(rollouts)
    memory.set_novelty(memory.playable_slots(), np.linspace(0, 1, memory.transitions))
    return memory


def layers(network: MLP, row: int | None = None):
    """A network, or one of a stack, as a list of float64 (weight, bias)."""
    own = ... if row is None else row
    return [
        (np.asarray(w[own], np.float64), np.asarray(b[own], np.float64))
        for w, b in zip(network.weights, network.biases, strict=True)
    ]


def assert_close(network: MLP, plain, message, row: int | None = None):
    for (weight, bias), (expected_weight, expected_bias) in zip(layers(network, row), plain, strict=True):
        np.testing.assert_allclose(weight, expected_weight, atol=2e-5, err_msg=message)
        np.testing.assert_allclose(bias, expected_bias, atol=2e-5, err_msg=message)


@pytest.mark.parametrize(
    ("number", "weights", "changes"),
    [
        (1, (1.0, 0.0), {}),
        (3, (1.0, 0.0), {}),
        (3, (0.0, 1.0), {"discount": 0.9}),
        (2, (1.0, 1.0), {"delay": 3}),
        (2, (1.0, 0.0), {"output": "linear"}),
        (2, (1.0, 0.0), {"output": "linear", "reach": 0.1, "critic_hidden": "normed"}),
        (3, (0.0, 1.0), {"batch_size": 5000}),  # more than fits into a cache
        (3, (1.0, 0.0), {"optimiser": "sgd", "critic_rate": 1e-3, "actor_rate": 1e-3}),
        (2, (1.0, 0.0), {"optimiser": "sgd", "loss": "sum", "critic_rate": 1e-5, "actor_rate": 1e-4}),
    ],
)
def test_engine_equals_plain_td3(replay, number, weights, changes):
    output = changes.pop("output", "tanh")
    settings = TD3Settings(**{"batch_size": 32, "actor_rate": 1e-4, "critic_rate": 1e-4, **changes})
    population = init_population(jax.random.key(1), number, SIZES, output=output)
    actors, critics = init_actors(population, settings), init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    steps, weights = 11, jnp.array(weights)
    improved, trained = improve(actors, critics, replay.view(), weights, KEY, 0, steps, settings=settings)

    batches = [_draw(replay.view(), weights, WORDS, number, (2, 2), settings, jnp.int32(i)) for i in range(steps)]
    plain = plain_td3.improve(
        [layers(population, j) for j in range(number)],
        [layers(critic) for critic in critics.online],
        batches,
        settings,
        output=output,
    )
    for j in range(number):
        assert_close(improved.online, plain[0][j], f"actor {j}", j)
        assert_close(improved.target, plain[2][j], f"target of actor {j}", j)
    for k in (0, 1):
        assert_close(trained.online[k], plain[1][k], f"critic {k}")
        assert_close(trained.target[k], plain[3][k], f"target of critic {k}")
    moved = np.abs(np.asarray(improved.online.weights[0] - population.weights[0])).max()
    assert moved > 1e-5  # the comparison is not between two idle things


def test_frozen_critics_equal_plain_ascent(replay):
    settings = TD3Settings(batch_size=32, actor_rate=1e-3)
    population = init_population(jax.random.key(1), 2, SIZES)
    actors, critics = init_actors(population, settings), init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    improved, same = improve(actors, critics, replay.view(), QUALITY, KEY, 0, 7, settings=settings, train_critics=False)
    batches = [_draw(replay.view(), QUALITY, WORDS, 2, (2, 2), settings, jnp.int32(i)) for i in range(7)]
    plain = plain_td3.improve(
        [layers(population, j) for j in (0, 1)], [layers(critic) for critic in critics.online], batches, settings, False
    )
    for j in (0, 1):
        assert_close(improved.online, plain[0][j], f"actor {j}", j)
    for before, after in zip(jax.tree.leaves(critics), jax.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(before, after)


def test_splitting_an_improvement_does_not_change_it(replay):
    settings = TD3Settings(batch_size=32)
    actors = init_actors(init_population(jax.random.key(1), 2, SIZES), settings)
    critics = init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    view = replay.view()
    whole = improve(actors, critics, view, QUALITY, KEY, 0, 21, settings=settings)
    part = improve(actors, critics, view, QUALITY, KEY, 0, 8, settings=settings)
    part = improve(*part, view, QUALITY, KEY, 8, 13, settings=settings)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(part), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_number_of_steps_is_not_a_shape(replay):
    settings = TD3Settings(batch_size=16)
    actors = init_actors(init_population(jax.random.key(1), 2, SIZES), settings)
    critics = init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    improve(actors, critics, replay.view(), QUALITY, KEY, 0, 4, settings=settings)
    compiled = improve._cache_size()
    for steps in (2, 7, 100):
        improve(actors, critics, replay.view(), QUALITY, KEY, 0, steps, settings=settings)
    assert improve._cache_size() == compiled


def test_no_steps_change_nothing(replay):
    settings = TD3Settings(batch_size=16)
    actors = init_actors(init_population(jax.random.key(1), 2, SIZES), settings)
    critics = init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    result = improve(actors, critics, replay.view(), QUALITY, KEY, 0, 0, settings=settings)
    for a, b in zip(jax.tree.leaves((actors, critics)), jax.tree.leaves(result), strict=True):
        np.testing.assert_array_equal(a, b)


def test_every_actor_has_its_own_learning_rate(replay):
    settings = TD3Settings(batch_size=32, optimiser="sgd")
    population = init_population(jax.random.key(1), 3, SIZES)
    critics = init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    rates = np.array([0.0, 1e-3, 2e-3])
    improved, _ = improve(
        init_actors(population, settings, rates), critics, replay.view(), QUALITY, KEY, 0, 2, settings=settings
    )
    moved = [np.abs(np.asarray(improved.online.weights[0])[j] - population.weights[0][j]).max() for j in range(3)]
    assert moved[0] == 0 < moved[1]
    same = jax.tree.map(lambda leaf: np.repeat(leaf[2:], 2, axis=0), population)  # one policy, two rates, one minibatch
    assert moved[2] > 0
    slow, fast = (
        improve(
            init_actors(same, settings, np.full(2, rate)), critics, replay.view(), QUALITY, KEY, 0, 2, settings=settings
        )[0]
        for rate in (1e-3, 2e-3)
    )
    np.testing.assert_allclose(
        fast.online.weights[0] - same.weights[0], 2 * (slow.online.weights[0] - same.weights[0]), rtol=0.02, atol=1e-7
    )


def test_frozen_actors_stay_while_critics_learn(replay):
    settings = TD3Settings(batch_size=32)
    actors = init_actors(init_population(jax.random.key(1), 2, SIZES), settings)
    critics = init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    same, trained = improve(actors, critics, replay.view(), QUALITY, KEY, 0, 9, settings=settings, train_actors=False)
    for a, b in zip(jax.tree.leaves(actors), jax.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(a, b)
    assert int(trained.optimiser.count) == 9


def test_pull_is_the_gradient_of_its_loss(replay):
    """One actor step against automatic differentiation of −Q1 + β · ½ mean (π − π')², each with its own β and π'."""
    settings = TD3Settings(batch_size=32, optimiser="sgd", actor_rate=0.1)
    population, others = (init_population(jax.random.key(k), 2, SIZES) for k in (1, 5))
    actors, critics = init_actors(population, settings), init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    batch, _ = _draw(replay.view(), QUALITY, WORDS, 2, (2, 2), settings, jnp.int32(0))
    pull = Pull(others, jnp.array([0.0, 30.0]))

    def loss(policy, other, states, beta):
        action = apply_mlp(policy, states)
        values = apply_mlp(critics.online[0], jnp.concatenate([states, action], axis=1))
        return -values.mean() + beta * 0.5 * jnp.mean((action - apply_mlp(other, states)) ** 2)

    gradient = jax.vmap(jax.grad(loss))(actors.online, others, batch.observation, pull.strength)
    expected = jax.tree.map(lambda p, g: p - 0.1 * g, actors.online, gradient)
    found = update_actors(actors, critics, batch, settings, pull).online
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_bonus_is_added_to_the_reward(replay):
    settings = TD3Settings(batch_size=32)
    plain, _ = _draw(replay.view(), QUALITY, WORDS, 2, (2, 2), settings, jnp.int32(3))
    more, _ = _draw(
        replay.view(), QUALITY, WORDS, 2, (2, 2), settings, jnp.int32(3), bonus=lambda states: 2.0 * states[..., 0]
    )
    np.testing.assert_allclose(more.reward, plain.reward + 2.0 * plain.following[..., 0], rtol=1e-6)


@pytest.mark.parametrize("ends", [True, False])
def test_gains_rank_policies_as_before(ends):
    """Its discounted sum is 1 − γ times that of the novelty, but for what only the first state decides."""
    novelty, discount, steps = np.random.default_rng(0).uniform(size=51), 0.9, 50
    continues = np.ones(steps)
    continues[-1] = not ends
    gained = gain(novelty[:-1], novelty[1:], continues, discount)
    by_then = discount ** np.arange(steps)
    rest = 0.0 if ends else discount**steps * novelty[-1]  # what critics expect beyond: the potential there
    assert (by_then * gained).sum() == pytest.approx((1 - discount) * (by_then * novelty[1:]).sum() - novelty[0] + rest)


def test_batches_hold_the_novelty_gained(replay):
    weights, before = jnp.array([0.0, 2.0]), replay.rows[:, NOVELTY]
    settings = TD3Settings(batch_size=32, shaped=True)
    batch, _ = _draw(replay.view(), weights, WORDS, 2, (2, 2), settings, jnp.int32(3))
    slots = np.asarray(draw_slots(replay.view(), WORDS, jnp.int32(3), (2, 32)))
    expected = gain(before[slots], before[slots + 1], replay.rows[slots, CONTINUES], settings.discount)
    np.testing.assert_allclose(batch.reward, 2.0 * expected, rtol=1e-6)


def test_networks_see_scaled_observations(replay):
    plain, noise = _draw(replay.view(), QUALITY, WORDS, 2, (2, 2), TD3Settings(batch_size=32), jnp.int32(3))
    settings = TD3Settings(batch_size=32, scale=(2.0, 0.5))
    scaled, same = _draw(replay.view(), QUALITY, WORDS, 2, (2, 2), settings, jnp.int32(3))
    factors = np.array([0.5, 2.0])
    np.testing.assert_array_equal(scaled.pair, plain.pair * np.append(factors, [1.0, 1.0]))
    for name in ("observation", "following"):
        np.testing.assert_array_equal(getattr(scaled, name), getattr(plain, name) * factors)
    for name in ("reward", "continues"):
        np.testing.assert_array_equal(getattr(scaled, name), getattr(plain, name))
    np.testing.assert_array_equal(noise, same)


def test_clipped_actions_come_back_and_stay_within_reach():
    """Where a tanh's gradient would have vanished, an action still goes to the other end, and not far beyond it."""
    settings = TD3Settings(batch_size=64, actor_rate=1e-2, reach=2.0)
    critics = init_critics(jax.random.key(0), (3, 1), settings)
    for wanted, far in ((1.0, -20.0), (-1.0, 20.0)):
        slope = (jnp.array([[0.0], [0.0], [wanted]]),)
        linear = eqx.tree_at(lambda c: c.weights, critics.online[0], slope)
        rising = critics._replace(online=(linear, linear))
        population = init_population(jax.random.key(1), 1, (2, 8, 1), output="linear")
        population = eqx.tree_at(lambda p: p.biases[-1], population, jnp.full((1, 1), far))
        actors = init_actors(population, settings)
        observation = jax.random.normal(jax.random.key(2), (1, 64, 2))
        batch = Batch(jnp.zeros((1, 64, 3)), observation, jnp.zeros((1, 64)), jnp.ones((1, 64)), observation)
        climb = jax.jit(functools.partial(update_actors, settings=settings))
        for _ in range(4_000):
            actors = climb(actors, rising, batch)
        end = np.asarray(forward(actors.online, observation).output)
        assert np.sign(end).tolist() == np.full_like(end, wanted).tolist()
        assert np.abs(end).max() <= 2.2


def test_directions_count_what_a_step_goes_there(replay):
    settings = TD3Settings(batch_size=64, directions="drawn")
    weights = jnp.array([0.5, 2.0])
    view = replay.view()
    batch, _ = _draw(view, weights, WORDS, 2, (2, 2), settings, jnp.int32(3))
    plain, _ = _draw(view, jnp.array([0.5, 0.0]), WORDS, 2, (2, 2), TD3Settings(batch_size=64), jnp.int32(3))
    slots = np.asarray(draw_slots(view, WORDS, jnp.int32(3), (2, 64)))
    told = np.asarray(batch.observation[..., 2:])
    moved = replay.descriptors[(slots + 1) % replay.capacity] - replay.descriptors[slots]
    np.testing.assert_allclose(batch.reward, plain.reward + 2.0 * (told * moved).sum(axis=-1), atol=1e-5)
    np.testing.assert_array_equal(batch.following[..., 2:], told)
    np.testing.assert_array_equal(batch.following[..., :2], plain.following)
    np.testing.assert_array_equal(batch.pair[..., :2], plain.pair[..., :2])
    np.testing.assert_array_equal(batch.pair[..., 2:4], told)
    np.testing.assert_array_equal(batch.pair[..., 4:], plain.pair[..., 2:])
    replay.slopes[:] = np.random.default_rng(0).normal(size=replay.slopes.shape)
    novel, _ = _draw(replay.view(), weights, WORDS, 2, (2, 2), replace(settings, directions="novel"), jnp.int32(3))
    np.testing.assert_array_equal(novel.observation[..., 2:], replay.slopes[slots])
    pointing, _ = _draw(view, weights, WORDS, 2, (2, 2), replace(settings, directions="pointing"), jnp.int32(3))
    there = np.asarray(pointing.observation[..., 2:])
    there = there / np.linalg.norm(there, axis=-1, keepdims=True)
    np.testing.assert_allclose(pointing.reward, plain.reward + 2.0 * (there * moved).sum(axis=-1), atol=1e-5)


def test_quarters_of_a_minibatch_are_turned(replay):
    """Turned four times, all is as before; turned once, x becomes y and y becomes -x; rewards stay."""
    turn = (((1, -1), (0, 1)), ((1, -1), (0, 1)))
    settings = TD3Settings(batch_size=64, directions="pointing", scale=(2.0, 2.0))
    weights, view = jnp.array([0.0, 2.0]), replay.view()
    plain, _ = _draw(view, weights, WORDS, 2, (2, 2), settings, jnp.int32(3))
    turned, _ = _draw(view, weights, WORDS, 2, (2, 2), replace(settings, quarter_turn=turn), jnp.int32(3))
    np.testing.assert_array_equal(turned.reward, plain.reward)
    np.testing.assert_array_equal(turned.continues, plain.continues)
    for quarter in range(4):
        cosine, sine = [(1, 0), (0, 1), (-1, 0), (0, -1)][quarter]
        rotation = np.array([[cosine, sine], [-sine, cosine]])  # of rows
        rows = np.s_[:, 16 * quarter : 16 * quarter + 16]
        for name, pairs in (("observation", 2), ("following", 2), ("pair", 3)):
            before, after = (np.asarray(getattr(batch, name))[rows] for batch in (plain, turned))
            assert before.shape[-1] == 2 * pairs
            for first in range(0, 2 * pairs, 2):
                np.testing.assert_allclose(after[..., first : first + 2], before[..., first : first + 2] @ rotation)
    climbed = replace(settings, quarter_turn=turn, directions="novel")
    novel, _ = _draw(view, weights, WORDS, 2, (2, 2), climbed, jnp.int32(3))
    np.testing.assert_array_equal(novel.observation[..., :2], plain.observation[..., :2])


@pytest.mark.parametrize("least", [0.0, 0.25])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_directions_are_drawn_all_around(size, least):
    drawn = np.asarray(draw_directions(WORDS, jnp.int32(5), (20_000, size), least))
    lengths = np.linalg.norm(drawn, axis=1)
    expected = least + (1.75 - least) * np.array([0.0, 0.25, 0.5, 1.0])
    np.testing.assert_allclose(np.quantile(lengths, [0.0, 0.25, 0.5, 1.0]), expected, atol=0.02)
    assert np.abs(drawn.mean(axis=0)).max() < 0.03


def test_policies_without_directions_climb_critics_that_know_them(replay):
    """What an actor gains is the slope of its critic in the direction of each state."""
    settings = TD3Settings(batch_size=256, directions="novel", actor_rate=1e-3)
    replay.slopes[:] = [1.0, 0.0]
    critics = init_critics(jax.random.key(1), (6, 32, 32, 1), settings)
    first = init_population(jax.random.key(2), 3, SIZES)
    actors, same = improve(
        init_actors(first, settings),
        critics,
        replay.view(),
        QUALITY,
        KEY,
        0,
        100,
        settings=settings,
        train_critics=False,
    )
    assert same is critics or jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), same, critics))
    states = replay.rows[replay.playable_slots()[:1000], :2]
    seen = np.concatenate([states, np.broadcast_to([1.0, 0.0], states.shape)], axis=1).astype(np.float32)

    def judge(population):
        acted = jax.vmap(apply_mlp, in_axes=(0, None))(population, states)
        pairs = jnp.concatenate([jnp.broadcast_to(seen, (3, *seen.shape)), acted], axis=-1)
        return np.asarray(apply_mlp(critics.online[0], pairs)).mean(axis=(1, 2))

    assert (judge(actors.online) > judge(first)).all()


@pytest.mark.parametrize(("directions", "length"), [("drawn", 1.0), ("pointing", 1.0), ("pointing", 0.2)])
def test_one_policy_learns_to_go_anywhere(directions, length):
    """From random steps on a plane, a policy that is told a direction learns to step there, and nowhere else."""
    rng = np.random.default_rng(0)
    memory = Replay(4000, 2, 2, 2)
    actions = rng.uniform(-1, 1, (1999, 2)).astype(np.float32)
    states = np.concatenate([np.zeros((1, 2)), np.cumsum(0.1 * actions, axis=0)]).astype(np.float32)
    rows = np.zeros((2000, 7), np.float32)
    rows[:, :2], rows[:-1, 2:4], rows[:, CONTINUES] = np.tanh(states), actions, 1.0
    memory.insert_rows(rows, states, np.arange(2000) < 1999)
    memory.index()
    settings = TD3Settings(batch_size=64, directions=directions, discount=0.5, actor_rate=3e-3, critic_rate=3e-3)
    actors = init_actors(init_population(jax.random.key(0), 1, (4, 32, 2)), settings)
    critics = init_critics(jax.random.key(1), (6, 32, 1), settings)
    actors, _ = improve(actors, critics, memory.view(), jnp.array([0.0, 10.0]), KEY, 0, 3000, settings=settings)
    told = rng.standard_normal((500, 2))
    told /= np.linalg.norm(told, axis=1, keepdims=True)
    seen = np.concatenate([np.tanh(states[:500]), length * told], axis=1).astype(np.float32)
    acted = np.asarray(apply_mlp(jax.tree.map(lambda leaf: leaf[0], actors.online), seen))
    assert np.quantile((acted * told).sum(axis=1), 0.05) > 0.7, "straight there is 1 to 1.41"
