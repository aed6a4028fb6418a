"""The emitter that sends the greedy direction-conditioned policy to cells of the archive."""

import jax
import numpy as np
import pytest
from small_emitters import SETTINGS, SPEC, make_context, make_elites

from qdpg.emitters.fields import DirectionFields
from qdpg.emitters.learner import Networks
from qdpg.emitters.navigation_field import START, NavigationField, choose_goals, find_middles
from qdpg.learn.navigation import follow_navigation, join_fields, plan_field
from qdpg.learn.networks import flatten_population
from qdpg.learn.roadmap import draw_roadmap
from wandering import roadmap_of, wander

NETWORKS = Networks(SPEC, (16, 16), output="linear", navigates=True)
FIELDS = DirectionFields(NETWORKS, keeps_weights=False)


@pytest.fixture(scope="module")
def roadmap():
    return roadmap_of(wander(number=60, steps=300))


def make_emitter(roadmap, size=4):
    return NavigationField("diversity", size, FIELDS, lambda: roadmap)


def start_of(offered=15, **options):
    starts = np.tile(np.array([[0.1, -0.2]], np.float32), (offered, 1))
    return make_elites(offered, {START: starts}, NETWORKS, **options)


@pytest.fixture(scope="module")
def learner():
    return NETWORKS.init_learner(jax.random.key(1), SETTINGS, with_greedy=True, further_inputs=2)


def test_offspring_follow_the_planned_fields(roadmap, learner):
    emitter, elites = make_emitter(roadmap), start_of()
    selected = emitter.select(elites, np.random.default_rng(0))
    offspring = emitter.emit(selected, make_context(emitter, learner=learner))
    np.testing.assert_allclose(selected.starts, [[0.1, -0.2]])
    planned = join_fields(
        *(
            plan_field(roadmap, selected.targets[i], goal, selected.starts, np.ones(2), selected.seeds[i])
            for i, goal in enumerate(selected.goals)
        )
    )
    expected = follow_navigation(learner.greedy.online, planned, FIELDS.place)
    np.testing.assert_array_equal(flatten_population(offspring.policies), flatten_population(expected))
    assert (offspring.parents == -1).all()
    assert offspring.learned is None
    assert offspring.policies.sizes == NETWORKS.policy_sizes


def test_most_targets_are_empty_cells_and_best_those_that_were_seen(roadmap):
    line = np.linspace((-0.9, -0.9), (0.9, -0.9), 200)  # the lowest row of cells
    seen = draw_roadmap(line, np.arange(200) < 199, np.ones(2))
    elites = start_of(offered=6)
    selected = make_emitter(seen, 400).select(elites, np.random.default_rng(1))
    drawn, filled = elites.archive.index_of(selected.targets), elites.data()["index"]
    is_empty = ~np.isin(drawn, filled)
    assert 0.65 < is_empty.mean() < 0.85
    assert set(filled) <= set(drawn)
    heights = selected.targets[is_empty, 1]
    assert np.mean(heights < -0.6) > 2 * np.mean(heights > 0.6)
    lowest = np.setdiff1d(np.flatnonzero(find_middles(elites.archive)[:, 1] < -0.6), filled)
    assert set(lowest) <= set(drawn[is_empty])


def test_cells_whose_elite_rarely_ends_there_are_targets_more_often(roadmap, monkeypatch):
    elites = start_of(offered=6)
    filled = elites.data()["index"]
    reliable = np.where(np.arange(len(filled)) == 0, 0.1, 0.9)
    monkeypatch.setattr(elites, "reliability", lambda: reliable)
    selected = make_emitter(roadmap, 1000).select(elites, np.random.default_rng(1))
    drawn = elites.archive.index_of(selected.targets)
    is_filled = np.isin(drawn, filled)
    assert is_filled.mean() == pytest.approx(0.5, abs=0.05)
    counts = [(drawn == cell).sum() for cell in filled]
    assert counts[0] > 4 * max(counts[1:])


def test_the_way_to_what_was_seen_ends_there_and_to_other_places_at_one_of_several(roadmap):
    rng, seen = np.random.default_rng(0), roadmap.places[[5, 70, 200]]
    np.testing.assert_array_equal(choose_goals(seen, roadmap, rng), [5, 70, 200])
    outside = np.full((200, 2), 1.5)
    goals = choose_goals(outside, roadmap, rng)
    assert len(set(goals)) > 20
    gaps = np.linalg.norm(roadmap.places - 1.5, axis=1)
    assert np.median(gaps[goals]) < np.quantile(gaps, 0.2)


def test_without_empty_cells_all_targets_are_filled_ones(roadmap):
    elites = start_of(offered=40, cells=(2, 2))
    assert len(elites) == 4
    selected = make_emitter(roadmap, 20).select(elites, np.random.default_rng(1))
    assert len(set(elites.archive.index_of(selected.targets))) == 4


@pytest.mark.parametrize("cells", [(5, 5), (3, 7), 9])
def test_middles_are_those_of_the_cells_in_order(cells):
    archive = start_of(cells=cells).archive
    np.testing.assert_array_equal(archive.index_of(find_middles(archive)), np.arange(archive.cells))


def test_without_a_map_nobody_is_sent(learner):
    emitter = make_emitter(None)
    selected = emitter.select(start_of(), np.random.default_rng(0))
    assert emitter.emit(selected, make_context(emitter, learner=learner)) is None
