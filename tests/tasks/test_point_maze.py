"""point-maze against the figures of its own geometry, computed with the real step function."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qdpg.play.jax_player import JaxPlayer
from qdpg.tasks.point_maze import PointMaze, PointState, move

TASK = PointMaze()
GOAL = np.array(TASK.goal)
GAP, TIP = 1e-6, 0.5  # float32 leaves the crossing abscissa uncertain by less than this


@functools.partial(jax.jit, static_argnums=0)
def play_scripted(policy, starts, key):
    """Play `policy(position [n, 2], t, key) -> action [n, 2]` from `starts`; returns and final positions."""

    def step(carry, t):
        state, alive, total = carry
        action = policy(state.position, t, jax.random.fold_in(key, t))
        after, reward, ended = jax.vmap(TASK.step)(state, action)
        position = jnp.where(alive[:, None], after.position, state.position)
        return (PointState(position), alive & ~ended, total + jnp.where(alive, reward, 0.0)), None

    alive, total = jnp.ones(len(starts), bool), jnp.zeros(len(starts))
    (state, _, total), _ = jax.lax.scan(step, (PointState(starts), alive, total), jnp.arange(TASK.horizon))
    return total, state.position


def starts(number):
    return jax.vmap(TASK.reset)(jax.random.split(jax.random.key(0), number)).position


def greedy(position, t, key):
    """Straight down the gradient of the distance."""
    return jnp.clip((GOAL - position) / 0.1, -1, 1)


def test_start_box():
    positions = np.asarray(starts(5000))
    assert np.all(np.abs(positions[:, 0]) <= 0.1)
    assert np.all((positions[:, 1] >= -1) & (positions[:, 1] <= -0.7))
    np.testing.assert_allclose(positions.mean(axis=0), [0, -0.85], atol=0.01)


def test_optimum_by_dynamic_programming():
    """Value iteration on a 0.01 grid with 21 x 21 actions, through the task's own `step`."""
    axis, moves = jnp.linspace(-1, 1, 201), jnp.linspace(-1, 1, 21)
    grid = jnp.stack(jnp.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    actions = jnp.stack(jnp.meshgrid(moves, moves), axis=-1).reshape(-1, 2)

    @jax.jit
    def transitions(action):
        """The cell that each cell leads to (one past the last: the end), and the reward on the way."""
        state, reward, ended = jax.vmap(TASK.step, (0, None))(PointState(grid), action)
        index = jnp.round((state.position + 1) * 100).astype(int)
        return jnp.where(ended, len(grid), index[:, 0] * 201 + index[:, 1]), reward

    leads_to, reward = jax.lax.map(transitions, actions)
    leads_to, reward = np.asarray(leads_to), np.asarray(reward)
    value = np.full(len(grid), -500.0, np.float32)
    for _ in range(32):  # the longest way from the start box takes fewer steps
        value = (reward + np.append(value, np.float32(0))[leads_to]).max(axis=0)
    inside = (np.abs(grid[:, 0]) <= 0.1001) & (grid[:, 1] <= -0.6999)
    best = np.asarray(value)[np.asarray(inside)]
    assert best.mean() == pytest.approx(-23.6, abs=0.3)
    assert best.min() > -26.5
    assert best.max() < -21.5


def test_deceptive_optimum_is_under_the_upper_wall():
    """The best that can be had without finding the upper gap: round the lower wall, park at (-0.5, 0.2)."""

    def park(position, t, key):
        below = position[:, 1] <= -0.5
        target = jnp.where(
            below[:, None] & (position[:, :1] > -0.5), jnp.array([-0.52, -0.499]), jnp.array([-0.5, 0.4])
        )
        return jnp.clip((target - position) / 0.1, -1, 1)

    returns, final = play_scripted(park, starts(500), jax.random.key(1))
    assert np.mean(returns) == pytest.approx(-126.3, abs=1.5)
    np.testing.assert_allclose(np.median(final, axis=0), [-0.5, 0.2], atol=0.03)


def test_greedy_sticks_under_the_lower_wall():
    returns, final = play_scripted(greedy, starts(500), jax.random.key(1))
    assert np.mean(returns) == pytest.approx(-260.6, abs=3)
    np.testing.assert_allclose(np.median(final, axis=0), [-0.5, -0.5], atol=0.02)


def test_greedy_with_noise_slips_past_the_lower_wall():
    def noisy(position, t, key):
        return jnp.clip(greedy(position, t, key) + 0.1 * jax.random.normal(key, position.shape), -1, 1)

    returns, _ = play_scripted(noisy, starts(500), jax.random.key(1))
    assert np.mean(returns) == pytest.approx(-127.5, abs=2)


def test_motionless_and_random():
    still, _ = play_scripted(lambda p, t, k: jnp.zeros_like(p), starts(2000), jax.random.key(1))
    assert np.mean(still) == pytest.approx(TASK.spec.references["motionless"], abs=4)
    random, _ = play_scripted(
        lambda p, t, k: jax.random.uniform(k, p.shape, minval=-1, maxval=1), starts(2000), jax.random.key(1)
    )
    assert np.mean(random) == pytest.approx(TASK.spec.references["random"], abs=4)


def test_goal_square_ends_the_episode():
    for offset, ends in ((0.0, True), (0.049, True), (0.051, False)):
        state = PointState(jnp.array([-0.5, 0.8 + offset]))
        _, reward, ended = TASK.step(state, jnp.zeros(2))
        assert bool(ended) is ends
        assert float(reward) == pytest.approx(-offset, abs=1e-6)


@pytest.mark.parametrize(
    ("old", "increment", "new"),
    [
        ((0.0, -0.55), (0.1, 0.1), (0.1, -0.5)),  # from below: y stops, x slides
        ((0.0, -0.45), (-0.1, -0.1), (-0.1, -0.49)),  # from above
        ((-0.6, -0.55), (0.0, 0.1), (-0.6, -0.45)),  # through the gap
        ((-0.5, -0.55), (0.0, 0.1), (-0.5, -0.5)),  # the tip is solid
        ((0.5, 0.15), (0.0, 0.1), (0.5, 0.2)),  # so is the upper one
        ((0.51, 0.15), (0.0, 0.1), (0.51, 0.25)),
        ((0.0, 0.25), (0.0, -0.1), (0.0, 0.21)),
        ((0.0, -0.5), (0.1, 0.0), (0.1, -0.5)),  # level moves hit nothing
        ((0.95, -0.95), (0.1, -0.1), (1.0, -1.0)),  # the box holds
    ],
)
def test_collisions(old, increment, new):
    np.testing.assert_allclose(move(jnp.array(old), jnp.array(increment)), new, atol=1e-6)


def passes_wall(old, new):
    """Whether the straight way from old to new, both float64, enters a wall's height away from its gap."""
    for height, solid in ((-0.5, lambda x: x > -TIP + GAP), (0.2, lambda x: x < TIP - GAP)):
        low, high = sorted((old[1], new[1]))
        if low <= height < high - 1e-7:
            share = (height - old[1]) / (new[1] - old[1])
            if solid(old[0] + share * (new[0] - old[0])) and not _inside_slab(old) and not _inside_slab(new):
                return True
    return False


def _inside_slab(point):
    """Between the faces of a wall, where the rules of the original do nothing."""
    return -0.5 < point[1] < -0.49 or 0.2 < point[1] < 0.21


extreme = st.sampled_from([-1.0, 0.0, 1.0])
action = st.tuples(st.one_of(st.floats(-1, 1, width=32), extreme), st.one_of(st.floats(-1, 1, width=32), extreme))
tips = st.sampled_from([(-0.5, -0.5), (-0.5, -0.49), (0.5, 0.2), (0.5, 0.21), (-0.5, -0.55), (0.5, 0.15), (0.45, 0.2)])
anywhere = st.tuples(st.floats(-1, 1, width=32), st.floats(-1, 1, width=32)).filter(lambda p: not _inside_slab(p))
fast_move = jax.jit(move)


@settings(max_examples=300, deadline=None)
@given(start=st.one_of(tips, anywhere), actions=st.lists(action, min_size=1, max_size=30))
def test_no_actions_cross_a_wall_or_leave_the_box(start, actions):
    old = np.array(start, np.float32)
    for a in actions:
        # Float32, as the task computes: rounding a start in double precision could itself cross a face.
        new = np.asarray(fast_move(old, np.float32(0.1) * np.array(a, np.float32)))
        assert np.all(np.abs(new) <= 1)
        assert not passes_wall(old.astype(float), new.astype(float)), (old, a, new)
        old = new


def test_player_cuts_at_the_horizon_without_ending():
    from qdpg.learn.networks import init_population

    rollouts = JaxPlayer(TASK).play(init_population(jax.random.key(0), 3, (2, 8, 2)), np.arange(3))
    assert rollouts.lengths.tolist() == [200, 200, 200]
    assert not rollouts.terminated.any()
