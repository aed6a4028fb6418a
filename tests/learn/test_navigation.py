"""Navigation fields, and the networks that follow them."""

import jax
import numpy as np
import pytest

from qdpg.learn import navigation
from qdpg.learn.direction_field import find_place, follow_fields
from qdpg.learn.navigation import HINGES, Field, flat_fields, follow_navigation, join_fields, plan_field
from qdpg.learn.networks import apply_mlp, init_population
from wandering import WALL, roadmap_of, wander

SEEN = 5
PLACE = find_place(((3, 2.0, 0.5), (1, -1.0, 0.0)), (-4.0, -2.0), (6.0, 3.0), np.full(SEEN, 0.5), np.arange(5) / 7)


def draw_field(number=3, seed=0):
    rng = np.random.default_rng(seed)
    return Field(
        rng.standard_normal((number, 3, 2)),
        rng.standard_normal((number, 3, HINGES)),
        rng.standard_normal((number, HINGES, 2)) / HINGES,
    )


def test_an_ordinary_network_does_what_the_conditioned_one_does_along_the_field():
    policy = init_population(jax.random.key(1), 1, (SEEN + 2, 16, 12, 4), output="linear")
    field = draw_field()
    plain = follow_navigation(policy, field, PLACE)
    seen = np.random.default_rng(1).standard_normal((40, SEEN)).astype(np.float32)
    places = seen[:, PLACE.rows] * PLACE.factors + PLACE.shifts
    single = jax.tree.map(lambda leaf: leaf[0], policy)
    for row in range(3):
        told = np.concatenate([seen, field(places)[row]], axis=1).astype(np.float32)
        own = jax.tree.map(lambda leaf, row=row: leaf[row], plain)
        np.testing.assert_allclose(apply_mlp(own, seen), apply_mlp(single, told), rtol=2e-4, atol=2e-4)


def test_fields_without_hinges_are_direction_fields():
    policy = init_population(jax.random.key(2), 1, (SEEN + 2, 16, 4), output="linear")
    fields = np.random.default_rng(2).standard_normal((3, 6)).astype(np.float32)
    seen = np.random.default_rng(3).standard_normal((40, SEEN)).astype(np.float32)
    straight = jax.vmap(apply_mlp, (0, None))(follow_fields(policy, fields, PLACE), seen)
    layered = jax.vmap(apply_mlp, (0, None))(follow_navigation(policy, flat_fields(fields, 2), PLACE), seen)
    np.testing.assert_allclose(layered, straight, rtol=2e-4, atol=2e-4)


def test_fields_are_joined_in_order():
    one, two = draw_field(1, 1), draw_field(2, 2)
    places = np.random.default_rng(0).standard_normal((7, 2))
    np.testing.assert_array_equal(join_fields(one, two)(places), np.concatenate([one(places), two(places)]))


@pytest.fixture(scope="module")
def roadmap():
    return roadmap_of(wander())


def plan(roadmap, target, start, seed, units=(1.0, 1.0)):
    """A field to where the roadmap leads nearest to the target, and on to it."""
    target = np.array(target)
    goal = int(roadmap.nearest(target[None])[0])
    return plan_field(roadmap, target, goal, np.array([start]), np.array(units), seed)


def follow(field, start, steps=500):
    """Where somebody ends who goes along the field, slides along the wall, and is a little unsteady."""
    rng, here = np.random.default_rng(0), np.tile(np.array(start, np.float64), (20, 1))
    for _ in range(steps):
        told = field(here)[0]
        step = 0.02 * told / np.maximum(np.linalg.norm(told, axis=1, keepdims=True), 1.0)
        after = np.clip(here + step + 0.004 * rng.standard_normal(here.shape), -1, 1)
        stopped = ((here[:, 1] - WALL) * (after[:, 1] - WALL) < 0) & (here[:, 0] < 0.5)
        after[stopped, 1] = here[stopped, 1]
        here = after
    return here


@pytest.mark.parametrize("target", [(-0.5, -0.4), (0.0, -0.8), (0.8, 0.0), (-0.2, 0.6), (-0.9, 0.9)])
def test_who_follows_a_field_comes_to_the_target_and_stays(roadmap, target):
    start, arrived = (-0.6, 0.5), []
    for seed in range(3):
        field = plan(roadmap, target, start, seed)
        arrived.append(np.linalg.norm(follow(field, start) - target, axis=1).max())
    assert np.median(arrived) < 0.15


def test_units_stretch_directions(roadmap):
    plans = [plan(roadmap, (0.9, 0.9), (-0.6, 0.5), 0, units) for units in ((1.0, 1.0), (10.0, 1.0))]
    here = np.array([(-0.2, 0.5)])
    even, wide = (each(here)[0, 0] for each in plans)
    assert abs(wide[1] / wide[0]) < abs(even[1] / even[0])


def test_from_where_nobody_ever_was_and_to_where_nobody_ever_got():
    known = roadmap_of(np.linspace((-0.9, 0), (-0.5, 0), 50)[None])
    field = plan(known, (0.9, 0.9), (0.0, 0.0), 0)
    assert np.isfinite(field.slopes).all()
    assert (field(known.places)[0, :-1, 0] > 0).all()


def test_of_several_draws_of_hinges_the_best_counts(roadmap, monkeypatch):
    """The first draw is the same however many there are, so more of them cannot be worse."""
    fit, errors = navigation._fit, {1: [], 6: []}
    for tries in errors:
        monkeypatch.setattr(navigation, "TRIES", tries)
        for seed in range(3):
            found = []
            monkeypatch.setattr(navigation, "_fit", lambda *given, found=found: found.append(fit(*given)) or found[-1])
            field = plan(roadmap, (-0.5, -0.4), (-0.6, 0.5), seed)
            assert len(found) == tries
            errors[tries].append(next(error for error, each in found if each is field))
    assert (np.array(errors[6]) <= errors[1]).all()
    assert (np.array(errors[6]) < errors[1]).any()


def test_directions_get_shorter_near_the_target(roadmap):
    target = np.array((0.0, 0.6))
    field = plan(roadmap, target, (-0.6, 0.5), 0)
    lengths = [np.linalg.norm(field(target[None] - (gap, 0.0))[0, 0]) for gap in (0.4, 0.05, 0.0)]
    assert lengths[0] > 1.2
    assert lengths[0] > 1.5 * lengths[1]
    assert lengths[2] < 0.4
