"""Policies that follow direction fields are the policy they are made of, shown a direction in every place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qdpg.learn.direction_field import (
    add_fields,
    direction_weights,
    draw_constant_fields,
    field_size,
    find_place,
    follow_fields,
    mutate_fields,
)
from qdpg.learn.networks import apply_mlp, init_population
from qdpg.play.player import make_player
from qdpg.tasks.ant_maze import AntMaze
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze


@pytest.mark.parametrize("task", [PointMaze(horizon=20), AntMaze(horizon=20), AntTrap(horizon=20)])
def test_a_policy_with_a_field_acts_as_if_it_saw_the_direction_there(task):
    spec, rng = task.spec, np.random.default_rng(0)
    scale = np.array(spec.observation_scale or (1.0,) * spec.observation_size)
    seen = len(scale)
    policy = init_population(jax.random.key(0), 1, (seen + 2, 16, 8, spec.action_size), output="linear")
    place = find_place(spec.located, spec.descriptor_low, spec.descriptor_high, scale)
    fields = rng.standard_normal((5, field_size(2, place))).astype(np.float32)
    assert fields.shape == (5, 6)
    plain = init_population(jax.random.key(1), 1, (spec.observation_size, 4, spec.action_size))
    rollouts = make_player(task).play(plain, np.zeros(1, int))
    observations = rollouts.observations[0, :, :seen] / scale
    low, high = np.array(spec.descriptor_low), np.array(spec.descriptor_high)
    z = 2 * (rollouts.descriptors[0] - low) / (high - low) - 1
    is_inside = (np.abs(z) < 0.999).all(axis=1)  # ant-trap's descriptors are clipped
    assert is_inside.any()
    acted = jax.vmap(apply_mlp, in_axes=(0, None))(follow_fields(policy, fields, place), jnp.asarray(observations))
    one = jax.tree.map(lambda leaf: leaf[0], policy)
    for field, action in zip(fields, np.asarray(acted), strict=True):
        direction = field[:2] + z @ field[2:].reshape(2, 2).T
        expected = apply_mlp(one, jnp.asarray(np.concatenate([observations, direction], axis=1), jnp.float32))
        np.testing.assert_allclose(action[is_inside], np.asarray(expected)[is_inside], atol=2e-5)


def test_where_places_cannot_be_read_off_fields_are_constant():
    place = find_place((), (0.0,), (1.0,), np.ones(3))
    assert field_size(1, place) == 1
    policy = init_population(jax.random.key(0), 1, (4, 8, 2))
    following = follow_fields(policy, np.array([[0.5], [-1.0]], np.float32), place)
    seen = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    for row, direction in enumerate((0.5, -1.0)):
        alone, one = (jax.tree.map(lambda leaf, r=r: leaf[r], n) for n, r in ((following, row), (policy, 0)))
        both = np.concatenate([seen, np.full((6, 1), direction, np.float32)], axis=1)
        np.testing.assert_allclose(apply_mlp(alone, seen), apply_mlp(one, both), atol=1e-6)


def test_fields_add_up():
    spec = PointMaze().spec
    place = find_place(spec.located, spec.descriptor_low, spec.descriptor_high, np.ones(2))
    policy = init_population(jax.random.key(0), 1, (4, 8, 2))
    first, second = np.random.default_rng(0).normal(size=(2, 3, 6)).astype(np.float32)
    weights = np.repeat(direction_weights(policy, 2), 3, axis=0)
    twice = add_fields(follow_fields(policy, first, place), weights, second, place)
    for a, b in zip(jax.tree.leaves(twice), jax.tree.leaves(follow_fields(policy, first + second, place)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_constant_fields_have_one_direction_everywhere():
    place = find_place(PointMaze().spec.located, (-1.0, -1.0), (1.0, 1.0), np.ones(2))
    fields = draw_constant_fields(np.random.default_rng(0), 500, 2, place)
    assert not fields[:, 2:].any()
    np.testing.assert_allclose(np.linalg.norm(fields[:, :2], axis=1), 1.0, rtol=1e-6)
    assert np.abs(fields[:, :2].mean(axis=0)).max() < 0.1


def test_mutated_fields_are_near_their_parents_or_new():
    place = find_place(PointMaze().spec.located, (-1.0, -1.0), (1.0, 1.0), np.ones(2))
    rng = np.random.default_rng(0)
    parents = np.tile(np.array([0.5, 0.5, 1.0, 0.0, 0.0, -0.5], np.float32), (4000, 1))
    children = mutate_fields(parents, rng, 0.05, 0.25, place)
    # Directions taken everywhere have a mean square of 1.
    places = rng.uniform(-1, 1, (4000, 2))
    directions = children[:, :2] + np.einsum("mdz,mz->md", children[:, 2:].reshape(-1, 2, 2), places)
    assert (directions**2).sum(axis=1).mean() == pytest.approx(1.0, abs=0.05)
    likeness = (children * parents).sum(axis=1) / np.linalg.norm(children, axis=1) / np.linalg.norm(parents[0])
    assert (likeness > 0.98).mean() == pytest.approx(0.75, abs=0.03)
    is_constant = ~children[:, 2:].any(axis=1)
    assert is_constant.mean() == pytest.approx(0.125, abs=0.02)
    np.testing.assert_allclose(np.linalg.norm(children[is_constant, :2], axis=1), 1.0, rtol=1e-5)
