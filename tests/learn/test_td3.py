"""The engine against plain TD3 in float64, and the promises that its docstrings make."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import plain_td3
import pytest

from qdpg.learn.backprop import forward
from qdpg.learn.directions import NovelDirections
from qdpg.learn.networks import MLP, apply_mlp, init_population
from qdpg.learn.td3 import Pull, TD3Settings, draw_target_noise, improve, init_actors, init_critics, update_actors
from qdpg.learn.transitions import Batch, UniformMinibatches

SIZES, CRITIC_SIZES = (2, 16, 8, 2), (4, 16, 8, 1)
KEY = jax.random.key(3, impl="rbg")
WORDS = jax.random.bits(KEY, (2,), jnp.uint32)  # what `improve` makes of the key
QUALITY = jnp.array([1.0, 0.0])


def uniform(replay, weights=QUALITY):
    return UniformMinibatches(replay.view(), weights)


@functools.partial(jax.jit, static_argnames=("number", "settings"))
def draw(minibatches, number, settings, step):
    """Minibatches and target noise as `improve` draws them."""
    shape = (number, settings.batch_size)
    return minibatches(WORDS, step, shape, 2), draw_target_noise(WORDS, step, (*shape, 2), settings)


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


def long(*values):
    return pytest.param(*values, marks=pytest.mark.long)


@pytest.mark.parametrize(
    ("number", "weights", "changes"),
    [
        (1, (1.0, 0.0), {}),
        (3, (0.0, 1.0), {"discount": 0.9}),
        (2, (1.0, 1.0), {"delay": 3, "output": "linear"}),
        long(2, (1.0, 0.0), {"output": "linear", "action_bound": 0.1, "critic_hidden": "normed"}),
        long(3, (0.0, 1.0), {"batch_size": 5000}),  # more than fits into a cache
        long(3, (1.0, 0.0), {"optimiser": "sgd", "critic_rate": 1e-3, "actor_rate": 1e-3}),
        long(2, (1.0, 0.0), {"optimiser": "sgd", "loss": "sum", "critic_rate": 1e-5, "actor_rate": 1e-4}),
    ],
)
def test_engine_equals_plain_td3(replay, number, weights, changes):
    output = changes.pop("output", "tanh")
    settings = TD3Settings(**{"batch_size": 32, "actor_rate": 1e-4, "critic_rate": 1e-4, **changes})
    population = init_population(jax.random.key(1), number, SIZES, output=output)
    actors, critics = init_actors(population, settings), init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    steps, weights = 11, jnp.array(weights)
    improved, trained = improve(actors, critics, uniform(replay, weights), KEY, 0, steps, settings=settings)

    batches = [draw(uniform(replay, weights), number, settings, i) for i in range(steps)]
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
    settings = TD3Settings(batch_size=32)
    population = init_population(jax.random.key(1), 2, SIZES)
    actors, critics = init_actors(population, settings), init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    improved, same = improve(actors, critics, uniform(replay), KEY, 0, 7, settings=settings, train_critics=False)
    batches = [draw(uniform(replay), 2, settings, i) for i in range(7)]
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
    minibatches = uniform(replay)
    whole = improve(actors, critics, minibatches, KEY, 0, 21, settings=settings)
    part = improve(actors, critics, minibatches, KEY, 0, 8, settings=settings)
    part = improve(*part, minibatches, KEY, 8, 13, settings=settings)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(part), strict=True):
        np.testing.assert_array_equal(a, b)


def test_neither_the_number_of_steps_nor_that_of_transitions_is_a_shape(replay):
    settings = TD3Settings(batch_size=32)
    actors = init_actors(init_population(jax.random.key(1), 2, SIZES), settings)
    critics = init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    improve(actors, critics, uniform(replay), KEY, 0, 4, settings=settings)
    compiled = improve._cache_size()
    for steps in (2, 7, 100):
        improve(actors, critics, uniform(replay), KEY, 0, steps, settings=settings)
    some = replay.view(replay.playable_slots()[::3])
    improve(actors, critics, UniformMinibatches(some, jnp.array([0.5, 2.0])), KEY, 0, 2, settings=settings)
    assert improve._cache_size() == compiled


def test_no_steps_change_nothing(replay):
    settings = TD3Settings(batch_size=32)
    actors = init_actors(init_population(jax.random.key(1), 2, SIZES), settings)
    critics = init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    result = improve(actors, critics, uniform(replay), KEY, 0, 0, settings=settings)
    for a, b in zip(jax.tree.leaves((actors, critics)), jax.tree.leaves(result), strict=True):
        np.testing.assert_array_equal(a, b)


def test_every_actor_has_its_own_learning_rate(replay):
    settings = TD3Settings(batch_size=32, optimiser="sgd", critic_rate=1e-3, actor_rate=1e-3)  # compiled already
    population = init_population(jax.random.key(1), 3, SIZES)
    critics = init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    rates = np.array([0.0, 1e-3, 2e-3])
    improved, _ = improve(
        init_actors(population, settings, rates), critics, uniform(replay), KEY, 0, 2, settings=settings
    )
    moved = [np.abs(np.asarray(improved.online.weights[0])[j] - population.weights[0][j]).max() for j in range(3)]
    assert moved[0] == 0 < moved[1]
    same = jax.tree.map(lambda leaf: np.repeat(leaf[2:], 3, axis=0), population)  # one policy, two rates, one minibatch
    assert moved[2] > 0
    slow, fast = (
        improve(init_actors(same, settings, np.full(3, rate)), critics, uniform(replay), KEY, 0, 2, settings=settings)[
            0
        ]
        for rate in (1e-3, 2e-3)
    )
    np.testing.assert_allclose(
        fast.online.weights[0] - same.weights[0], 2 * (slow.online.weights[0] - same.weights[0]), rtol=0.02, atol=1e-7
    )


def test_frozen_actors_stay_while_critics_learn(replay):
    settings = TD3Settings(batch_size=32)
    actors = init_actors(init_population(jax.random.key(1), 2, SIZES), settings)
    critics = init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    same, trained = improve(actors, critics, uniform(replay), KEY, 0, 9, settings=settings, train_actors=False)
    for a, b in zip(jax.tree.leaves(actors), jax.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(a, b)
    assert int(trained.optimiser.count) == 9


def test_pull_is_the_gradient_of_its_loss(replay):
    """One actor step against automatic differentiation of −Q1 + β · ½ mean (π − π')², each with its own β and π'."""
    settings = TD3Settings(batch_size=32, optimiser="sgd", actor_rate=0.1)
    population, others = (init_population(jax.random.key(k), 2, SIZES) for k in (1, 5))
    actors, critics = init_actors(population, settings), init_critics(jax.random.key(2), CRITIC_SIZES, settings)
    batch, _ = draw(uniform(replay), 2, settings, 0)
    pull = Pull(others, jnp.array([0.0, 30.0]))

    def loss(policy, other, states, beta):
        action = apply_mlp(policy, states)
        values = apply_mlp(critics.online[0], jnp.concatenate([states, action], axis=1))
        return -values.mean() + beta * 0.5 * jnp.mean((action - apply_mlp(other, states)) ** 2)

    gradient = jax.jit(jax.vmap(jax.grad(loss)))(actors.online, others, batch.observation, pull.strength)
    expected = jax.tree.map(lambda p, g: p - 0.1 * g, actors.online, gradient)
    found = jax.jit(functools.partial(update_actors, settings=settings))(actors, critics, batch, pull=pull).online
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_target_noise_is_clipped():
    noise = np.asarray(draw_target_noise(WORDS, jnp.int32(0), (2, 9000, 2), TD3Settings()))
    assert np.abs(noise).max() == np.float32(0.5)
    assert noise.std() == pytest.approx(0.2, abs=0.01)
    louder = TD3Settings(target_noise=0.4, target_noise_clip=1.0)
    np.testing.assert_allclose(draw_target_noise(WORDS, jnp.int32(0), (2, 9000, 2), louder), 2 * noise, rtol=1e-6)
    other = draw_target_noise(WORDS, jnp.int32(1), (2, 9000, 2), TD3Settings())
    assert abs(np.corrcoef(noise.ravel(), np.asarray(other).ravel())[0, 1]) < 0.03


def test_clipped_actions_come_back_and_stay_within_bounds():
    """Where a tanh's gradient would have vanished, an action still goes to the other end, and not far beyond it."""
    settings = TD3Settings(batch_size=64, actor_rate=1e-2, action_bound=2.0)
    critics = init_critics(jax.random.key(0), (3, 1), settings)
    climb = jax.jit(
        lambda actors, critics, batch: jax.lax.fori_loop(
            0, 4_000, lambda _, actors: update_actors(actors, critics, batch, settings), actors
        )
    )
    for wanted, far in ((1.0, -20.0), (-1.0, 20.0)):
        slope = (jnp.array([[0.0], [0.0], [wanted]]),)
        linear = eqx.tree_at(lambda c: c.weights, critics.online[0], slope)
        rising = critics._replace(online=(linear, linear))
        population = init_population(jax.random.key(1), 1, (2, 8, 1), output="linear")
        population = eqx.tree_at(lambda p: p.biases[-1], population, jnp.full((1, 1), far))
        actors = init_actors(population, settings)
        observation = jax.random.normal(jax.random.key(2), (1, 64, 2))
        batch = Batch(jnp.zeros((1, 64, 3)), observation, jnp.zeros((1, 64)), jnp.ones((1, 64)), observation)
        actors = climb(actors, rising, batch)
        end = np.asarray(forward(actors.online, observation).output)
        assert np.sign(end).tolist() == np.full_like(end, wanted).tolist()
        assert np.abs(end).max() <= 2.2


def test_policies_without_directions_climb_critics_that_know_them(replay):
    """What an actor gains is the slope of its critic in the direction of each state."""
    settings = TD3Settings(batch_size=256, actor_rate=1e-3)
    replay.novelty_gradients[:] = [1.0, 0.0]
    critics = init_critics(jax.random.key(1), (6, 32, 32, 1), settings)
    first = init_population(jax.random.key(2), 3, SIZES)
    actors, same = improve(
        init_actors(first, settings),
        critics,
        NovelDirections(replay.view(), QUALITY),
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
