"""Minibatches are what was played, drawn fairly and always the same."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qdpg.learn.transitions import (
    CONTINUES,
    NOVELTY,
    REWARD,
    Scaling,
    UniformMinibatches,
    WithBonus,
    draw_slots,
    shape_by_potential,
    successors,
    take_batch,
)
from qdpg.memory.replay import Replay

WORDS = jnp.array([3, 4], jnp.uint32)
QUALITY, NOVEL = jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0])


@eqx.filter_jit
def _draw(minibatches, key, step, size):
    return minibatches(key, step, (2, size), 2)


def draw(minibatches, step=3, size=32, key=WORDS):
    return _draw(minibatches, key, jnp.int32(step), size)


@pytest.fixture(scope="module")
def ring():
    """Two episodes of nine steps that fill a ring, the second across its end; novelty numbers the transitions."""
    rows = np.random.default_rng(0).normal(size=(20, 7)).astype(np.float32)
    rows[:, CONTINUES], rows[8, CONTINUES] = 1.0, 0.0
    is_playable = np.arange(20) % 10 < 9
    rows[is_playable, NOVELTY] = np.arange(18)
    memory = Replay(20, 2, 2, 2)
    memory.inserted = 5
    memory.insert_rows(rows, rows[:, :2], is_playable)
    memory.index()
    return memory


def test_minibatches_are_uniform_over_transitions(ring):
    numbers = np.asarray(draw(UniformMinibatches(ring.view(), NOVEL), size=9000).reward).astype(int)
    counts = np.bincount(numbers.ravel(), minlength=18)
    assert counts.min() > 850  # 1000 expected, standard deviation 31
    assert counts.max() < 1150


def test_minibatches_are_whole(ring):
    batch = draw(UniformMinibatches(ring.view(), QUALITY), size=9000)
    found = np.concatenate([batch.pair, batch.reward[..., None], batch.continues[..., None], batch.following], axis=-1)
    played = np.roll(ring.rows, -5, axis=0)
    expected = [
        (*played[t, :4], played[t, REWARD], played[t, CONTINUES], *played[t + 1, :2]) for t in range(19) if t % 10 < 9
    ]
    assert {tuple(row) for row in found.reshape(-1, 8)} == set(expected)
    np.testing.assert_array_equal(batch.observation, batch.pair[..., :2])


def test_the_same_key_and_step_draw_the_same(replay):
    first, again = (draw(UniformMinibatches(replay.view(), QUALITY)) for _ in range(2))
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(a, b)
    later = draw(UniformMinibatches(replay.view(), QUALITY), step=4)
    other = draw(UniformMinibatches(replay.view(), QUALITY), key=jnp.array([3, 5], jnp.uint32))
    for batch in (later, other):
        assert (np.asarray(batch.pair) != first.pair).any(axis=-1).mean() > 0.9
    assert (np.asarray(first.pair[0]) != first.pair[1]).any(axis=-1).mean() > 0.9  # each actor has its own


def test_only_slots_that_are_meant_are_drawn(replay):
    chosen = replay.playable_slots()[5:11].copy()
    drawn = np.asarray(draw_slots(replay.view(chosen), WORDS, jnp.int32(0), (2, 100)))
    assert set(drawn.ravel()) == set(chosen)


def test_reward_is_a_weighted_sum(replay):
    quality, novelty, both = (
        draw(UniformMinibatches(replay.view(), jnp.array(weights))).reward
        for weights in ([1.0, 0.0], [0.0, 1.0], [0.5, 2.0])
    )
    np.testing.assert_allclose(both, 0.5 * quality + 2.0 * novelty, rtol=1e-5)


def test_bonus_is_added_to_the_reward(replay):
    minibatches = UniformMinibatches(replay.view(), QUALITY)
    plain, more = draw(minibatches), draw(WithBonus(minibatches, lambda states: 2.0 * states[..., 0]))
    np.testing.assert_array_equal(more.reward, plain.reward + 2.0 * plain.following[..., 0])
    for name in ("pair", "observation", "continues", "following"):
        np.testing.assert_array_equal(getattr(more, name), getattr(plain, name))


def test_bonuses_see_observations_as_networks_do(replay):
    scaled = UniformMinibatches(replay.view(), jnp.zeros(2), Scaling(jnp.array([0.5, 2.0]), jnp.zeros(2)))
    more = draw(WithBonus(scaled, lambda states: states[..., 1]))
    np.testing.assert_array_equal(more.reward, draw(scaled).following[..., 1])


@pytest.mark.parametrize("ends", [True, False])
def test_shaping_ranks_policies_as_before(ends):
    """Its discounted sum is 1 − γ times that of the novelty, but for what only the first state decides."""
    novelty, discount, steps = np.random.default_rng(0).uniform(size=51), 0.9, 50
    continues = np.ones(steps)
    continues[-1] = not ends
    shaped = shape_by_potential(novelty[:-1], novelty[1:], continues, discount)
    by_then = discount ** np.arange(steps)
    rest = 0.0 if ends else discount**steps * novelty[-1]  # what critics expect beyond: the potential there
    assert (by_then * shaped).sum() == pytest.approx((1 - discount) * (by_then * novelty[1:]).sum() - novelty[0] + rest)


def test_batches_hold_the_novelty_shaped(replay):
    weights, before = jnp.array([0.0, 2.0]), replay.rows[:, NOVELTY]
    batch = draw(UniformMinibatches(replay.view(), weights, shaping=0.99))
    slots = np.asarray(draw_slots(replay.view(), WORDS, jnp.int32(3), (2, 32)))
    expected = shape_by_potential(before[slots], before[slots + 1], replay.rows[slots, CONTINUES], 0.99)
    np.testing.assert_allclose(batch.reward, 2.0 * expected, rtol=1e-6)


def test_networks_see_scaled_observations(replay):
    plain = draw(UniformMinibatches(replay.view(), QUALITY))
    scaled = draw(UniformMinibatches(replay.view(), QUALITY, Scaling(jnp.array([0.5, 2.0]), jnp.zeros(2))))
    factors = np.array([0.5, 2.0])
    np.testing.assert_array_equal(scaled.pair, plain.pair * np.append(factors, [1.0, 1.0]))
    for name in ("observation", "following"):
        np.testing.assert_array_equal(getattr(scaled, name), getattr(plain, name) * factors)
    for name in ("reward", "continues"):
        np.testing.assert_array_equal(getattr(scaled, name), getattr(plain, name))


def test_a_batch_may_have_any_leading_axes(ring):
    slots = np.arange(5, 13)
    flat, folded = (take_batch(ring.view(), QUALITY, each, 2) for each in (slots, slots.reshape(2, 4)))
    for a, b in zip(jax.tree.leaves(flat), jax.tree.leaves(folded), strict=True):
        np.testing.assert_array_equal(a, b.reshape(a.shape))


def test_successors_go_round_the_ring(ring):
    assert successors(ring.view(), np.array([3, 19])).tolist() == [4, 0]
