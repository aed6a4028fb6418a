"""Directions: what a step is worth in each, and what can be learned from that."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qdpg.learn.directions import LONGEST, NovelDirections, RandomDirections, draw_directions, turn_quarters
from qdpg.learn.networks import apply_mlp, init_population
from qdpg.learn.td3 import TD3Settings, improve, init_actors, init_critics
from qdpg.learn.transitions import CONTINUES, Scaling, UniformMinibatches, draw_slots
from qdpg.memory.replay import Replay

KEY = jax.random.key(3, impl="rbg")
WORDS = jax.random.bits(KEY, (2,), jnp.uint32)
WEIGHTS = jnp.array([0.5, 2.0])


def draw(minibatches, step=3):
    return minibatches(WORDS, jnp.int32(step), (2, 64), 2)


def moves(replay):
    """How far the steps of a minibatch went, [2, 64, 2]."""
    slots = np.asarray(draw_slots(replay.view(), WORDS, jnp.int32(3), (2, 64)))
    return replay.descriptors[(slots + 1) % replay.capacity] - replay.descriptors[slots]


def test_directions_count_what_a_step_goes_there(replay):
    view = replay.view()
    batch = draw(RandomDirections(view, WEIGHTS))
    plain = draw(UniformMinibatches(view, jnp.array([0.5, 0.0])))
    directions = np.asarray(batch.observation[..., 2:])
    np.testing.assert_allclose(batch.reward, plain.reward + 2.0 * (directions * moves(replay)).sum(axis=-1), atol=1e-5)
    np.testing.assert_array_equal(batch.observation[..., :2], plain.observation)
    np.testing.assert_array_equal(batch.following[..., 2:], directions)
    np.testing.assert_array_equal(batch.following[..., :2], plain.following)
    np.testing.assert_array_equal(batch.pair[..., :2], plain.pair[..., :2])
    np.testing.assert_array_equal(batch.pair[..., 2:4], directions)
    np.testing.assert_array_equal(batch.pair[..., 4:], plain.pair[..., 2:])
    np.testing.assert_array_equal(batch.continues, plain.continues)


def test_of_unit_directions_the_length_does_not_count(replay):
    batch = draw(RandomDirections(replay.view(), WEIGHTS, unit=True))
    plain = draw(UniformMinibatches(replay.view(), jnp.array([0.5, 0.0])))
    directions = np.asarray(batch.observation[..., 2:])
    lengths = np.linalg.norm(directions, axis=-1, keepdims=True)
    assert lengths.min() < 0.25
    expected = plain.reward + 2.0 * (directions / lengths * moves(replay)).sum(axis=-1)
    np.testing.assert_allclose(batch.reward, expected, atol=1e-5)


def test_novel_directions_are_where_novelty_grows(replay):
    replay.novelty_gradients[:] = np.random.default_rng(0).normal(size=replay.novelty_gradients.shape)
    slots = np.asarray(draw_slots(replay.view(), WORDS, jnp.int32(3), (2, 64)))
    batch = draw(NovelDirections(replay.view(), WEIGHTS))
    plain = draw(UniformMinibatches(replay.view(), jnp.array([0.5, 0.0])))
    directions = replay.novelty_gradients[slots]
    np.testing.assert_array_equal(batch.observation[..., 2:], directions)
    np.testing.assert_array_equal(batch.following[..., 2:], directions)
    np.testing.assert_allclose(batch.reward, plain.reward + 2.0 * (directions * moves(replay)).sum(axis=-1), atol=1e-5)


@pytest.mark.parametrize("kind", [RandomDirections, NovelDirections])
def test_observations_are_scaled_and_directions_are_not(replay, kind):
    scaling = Scaling(jnp.array([0.5, 2.0]), jnp.zeros(2))
    plain, scaled = draw(kind(replay.view(), WEIGHTS)), draw(kind(replay.view(), WEIGHTS, scaling))
    factors = np.array([0.5, 2.0, 1.0, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(scaled.pair, plain.pair * factors)
    np.testing.assert_array_equal(scaled.observation, plain.observation * factors[:4])
    np.testing.assert_array_equal(scaled.following, plain.following * factors[:4])
    np.testing.assert_array_equal(scaled.reward, plain.reward)


@pytest.mark.parametrize("kind", [RandomDirections, NovelDirections])
def test_the_same_key_and_step_draw_the_same(replay, kind):
    first, again, later = (draw(kind(replay.view(), WEIGHTS), step) for step in (3, 3, 4))
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (np.asarray(first.pair) != later.pair).any(axis=-1).mean() > 0.9


def test_quarters_of_a_minibatch_are_turned(replay):
    """Turned four times, all is as before; turned once, x becomes y and y becomes -x; rewards stay."""
    turn = (((1, -1), (0, 1)), ((1, -1), (0, 1)))
    plain, turned = (
        draw(
            RandomDirections(
                replay.view(),
                jnp.array([0.0, 2.0]),
                Scaling(jnp.full(2, 0.5), jnp.zeros(2)),
                unit=True,
                quarter_turn=each,
            )
        )
        for each in ((), turn)
    )
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


def test_turning_takes_each_column_from_its_source():
    rows = jnp.tile(jnp.array([1.0, 2.0, 3.0]), (4, 1))
    turned = turn_quarters(rows, ((1, -1), (0, 1), (2, 1)))
    np.testing.assert_array_equal(turned, [[1, 2, 3], [-2, 1, 3], [-1, -2, 3], [2, -1, 3]])


@pytest.mark.parametrize("shortest", [0.0, 0.25])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_directions_are_drawn_all_around(size, shortest):
    drawn = np.asarray(draw_directions(WORDS, jnp.int32(5), (20_000, size), shortest))
    lengths = np.linalg.norm(drawn, axis=1)
    expected = shortest + (1.75 - shortest) * np.array([0.0, 0.25, 0.5, 1.0])
    np.testing.assert_allclose(np.quantile(lengths, [0.0, 0.25, 0.5, 1.0]), expected, atol=0.02)
    assert lengths.max() <= LONGEST * (1 + 1e-6)
    assert np.abs(drawn.mean(axis=0)).max() < 0.03


@pytest.mark.parametrize(
    ("unit", "length"), [pytest.param(False, 1.0, marks=pytest.mark.long), (True, 1.0), (True, 0.2)]
)
def test_one_policy_learns_to_go_anywhere(unit, length):
    """From random steps on a plane, a policy that sees a direction learns to step there, and nowhere else."""
    rng = np.random.default_rng(0)
    memory = Replay(4000, 2, 2, 2)
    actions = rng.uniform(-1, 1, (1999, 2)).astype(np.float32)
    states = np.concatenate([np.zeros((1, 2)), np.cumsum(0.1 * actions, axis=0)]).astype(np.float32)
    rows = np.zeros((2000, 7), np.float32)
    rows[:, :2], rows[:-1, 2:4], rows[:, CONTINUES] = np.tanh(states), actions, 1.0
    memory.insert_rows(rows, states, np.arange(2000) < 1999)
    memory.index()
    settings = TD3Settings(batch_size=64, discount=0.5, actor_rate=3e-3, critic_rate=3e-3)
    actors = init_actors(init_population(jax.random.key(0), 1, (4, 32, 2)), settings)
    critics = init_critics(jax.random.key(1), (6, 32, 1), settings)
    minibatches = RandomDirections(memory.view(), jnp.array([0.0, 10.0]), unit=unit)
    actors, _ = improve(actors, critics, minibatches, KEY, 0, 3000, settings=settings)
    directions = rng.standard_normal((500, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    seen = np.concatenate([np.tanh(states[:500]), length * directions], axis=1).astype(np.float32)
    acted = np.asarray(apply_mlp(jax.tree.map(lambda leaf: leaf[0], actors.online), seen))
    assert np.quantile((acted * directions).sum(axis=1), 0.05) > 0.7, "straight there is 1 to 1.41"
