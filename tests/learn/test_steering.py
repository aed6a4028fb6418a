"""Steered policies are the policy they are made of, told a direction in every place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qdpg.learn.networks import apply_mlp, init_population
from qdpg.learn.steering import (
    add_steerings,
    breed_steerings,
    draw_straight,
    find_bearings,
    steer,
    steering_size,
    told_rows,
)
from qdpg.play.player import make_player
from qdpg.tasks.ant_maze import AntMaze
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze


@pytest.mark.parametrize("task", [PointMaze(horizon=20), AntMaze(horizon=20), AntTrap(horizon=20)])
def test_a_steered_policy_acts_as_if_it_were_told_where_to_go(task):
    spec, rng = task.spec, np.random.default_rng(0)
    scale = np.array(spec.observation_scale or (1.0,) * spec.observation_size)
    seen = len(scale)
    policy = init_population(jax.random.key(0), 1, (seen + 2, 16, 8, spec.action_size), output="linear")
    bearings = find_bearings(spec.located, spec.descriptor_low, spec.descriptor_high, scale)
    steerings = rng.standard_normal((5, steering_size(2, bearings))).astype(np.float32)
    assert steerings.shape == (5, 6)
    plain = init_population(jax.random.key(1), 1, (spec.observation_size, 4, spec.action_size))
    rollouts = make_player(task).play(plain, np.zeros(1, int))
    observations = rollouts.observations[0, :, :seen] / scale
    low, high = np.array(spec.descriptor_low), np.array(spec.descriptor_high)
    place = 2 * (rollouts.descriptors[0] - low) / (high - low) - 1
    is_inside = (np.abs(place) < 0.999).all(axis=1)  # ant-trap's descriptors are clipped
    assert is_inside.any()
    acted = jax.vmap(apply_mlp, in_axes=(0, None))(steer(policy, steerings, bearings), jnp.asarray(observations))
    one = jax.tree.map(lambda leaf: leaf[0], policy)
    for steering, action in zip(steerings, np.asarray(acted), strict=True):
        told = steering[:2] + place @ steering[2:].reshape(2, 2).T
        expected = apply_mlp(one, jnp.asarray(np.concatenate([observations, told], axis=1), jnp.float32))
        np.testing.assert_allclose(action[is_inside], np.asarray(expected)[is_inside], atol=2e-5)


def test_where_places_cannot_be_read_off_steering_is_constant():
    bearings = find_bearings((), (0.0,), (1.0,), np.ones(3))
    assert steering_size(1, bearings) == 1
    policy = init_population(jax.random.key(0), 1, (4, 8, 2))
    steered = steer(policy, np.array([[0.5], [-1.0]], np.float32), bearings)
    seen = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    for row, told in enumerate((0.5, -1.0)):
        alone, one = (jax.tree.map(lambda leaf, r=r: leaf[r], n) for n, r in ((steered, row), (policy, 0)))
        both = np.concatenate([seen, np.full((6, 1), told, np.float32)], axis=1)
        np.testing.assert_allclose(apply_mlp(alone, seen), apply_mlp(one, both), atol=1e-6)


def test_what_is_told_adds_up():
    spec = PointMaze().spec
    bearings = find_bearings(spec.located, spec.descriptor_low, spec.descriptor_high, np.ones(2))
    policy = init_population(jax.random.key(0), 1, (4, 8, 2))
    first, second = np.random.default_rng(0).normal(size=(2, 3, 6)).astype(np.float32)
    told = np.repeat(told_rows(policy, 2), 3, axis=0)
    twice = add_steerings(steer(policy, first, bearings), told, second, bearings)
    for a, b in zip(jax.tree.leaves(twice), jax.tree.leaves(steer(policy, first + second, bearings)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_straight_steerings_have_one_direction_everywhere():
    bearings = find_bearings(PointMaze().spec.located, (-1.0, -1.0), (1.0, 1.0), np.ones(2))
    steerings = draw_straight(np.random.default_rng(0), 500, 2, bearings)
    assert not steerings[:, 2:].any()
    np.testing.assert_allclose(np.linalg.norm(steerings[:, :2], axis=1), 1.0, rtol=1e-6)
    assert np.abs(steerings[:, :2].mean(axis=0)).max() < 0.1


def test_bred_steerings_are_near_their_parents_or_new():
    bearings = find_bearings(PointMaze().spec.located, (-1.0, -1.0), (1.0, 1.0), np.ones(2))
    rng = np.random.default_rng(0)
    parents = np.tile(np.array([0.5, 0.5, 1.0, 0.0, 0.0, -0.5], np.float32), (4000, 1))
    children = breed_steerings(parents, rng, 0.05, 0.25, bearings)
    # Directions all over the place have a mean square of 1.
    places = rng.uniform(-1, 1, (4000, 2))
    told = children[:, :2] + np.einsum("mdz,mz->md", children[:, 2:].reshape(-1, 2, 2), places)
    assert (told**2).sum(axis=1).mean() == pytest.approx(1.0, abs=0.05)
    likeness = (children * parents).sum(axis=1) / np.linalg.norm(children, axis=1) / np.linalg.norm(parents[0])
    assert (likeness > 0.98).mean() == pytest.approx(0.75, abs=0.03)
    is_straight = ~children[:, 2:].any(axis=1)
    assert is_straight.mean() == pytest.approx(0.125, abs=0.02)
    np.testing.assert_allclose(np.linalg.norm(children[is_straight, :2], axis=1), 1.0, rtol=1e-5)
