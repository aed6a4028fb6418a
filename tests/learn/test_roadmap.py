"""The roadmap of visited places."""

import itertools

import numpy as np
import pytest

from qdpg.learn.roadmap import BINS, distance_from, draw_roadmap, find_way, walk
from wandering import WALL, roadmap_of, wander

CORNERS = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])


@pytest.fixture(scope="module")
def maps():
    return {wall: roadmap_of(wander(wall=wall)) for wall in (False, True)}


def length(roadmap, start, target):
    lengths, _ = find_way(roadmap, roadmap.nearest(np.array([target]))[0])
    return lengths[roadmap.nearest(np.array([start]))[0]]


def test_a_way_round_a_wall_that_is_thinner_than_a_bin(maps):
    start, target = (-0.6, 0.5), (-0.6, -0.3)
    assert length(maps[False], start, target) < 1.5
    assert length(maps[True], start, target) > 2.2  # to x = 0.5, and back


def test_the_way_leads_through_the_gap(maps):
    roadmap = maps[True]
    _, following = find_way(roadmap, roadmap.nearest(np.array([(-0.6, -0.3)]))[0])
    on_way = roadmap.places[walk(following, roadmap.nearest(np.array([(-0.6, 0.5)])))]
    crossing = on_way[np.abs(on_way[:, 1] - WALL) < 0.05]
    assert len(crossing)
    assert (crossing[:, 0] > 0.5).all()


def test_ways_keep_away_from_walls(maps):
    roadmap = maps[True]
    _, following = find_way(roadmap, roadmap.nearest(np.array([(0.0, 0.2)]))[0])
    on_way = roadmap.places[walk(following, roadmap.nearest(np.array([(-0.9, 0.2)])))]
    assert on_way[:, 1].max() > 0.25  # not straight on, along the wall


def test_of_parts_that_were_never_joined_the_largest_is_the_map():
    apart = np.concatenate([np.linspace((-0.9, 0), (-0.4, 0), 50), np.linspace((0.5, 0), (0.9, 0), 50)])
    goes_on = np.ones(100, bool)
    goes_on[[49, 99]] = False
    roadmap = draw_roadmap(apart, goes_on, np.ones(2))
    assert (roadmap.places[:, 0] < 0).all()
    assert np.isfinite(find_way(roadmap, 0)[0]).all()
    assert distance_from(roadmap, np.arange(2)).max() > 0.4


def test_ways_are_as_long_as_steps_are_in_the_units_of_each_axis():
    square = np.concatenate([np.linspace(a, b, 50)[:-1] for a, b in itertools.pairwise(CORNERS)])
    goes_on = np.arange(len(square)) < len(square) - 1
    for units, crosses in (((1.0, 9.0), "x"), ((9.0, 1.0), "y")):
        roadmap = draw_roadmap(square, goes_on, np.array(units))
        _, following = find_way(roadmap, roadmap.nearest(CORNERS[2:3])[0])
        on_way = roadmap.places[walk(following, roadmap.nearest(CORNERS[:1]))]
        assert {"x": on_way[:, 0].max(), "y": on_way[:, 1].max()}[crosses] > 0.4, crosses


@pytest.mark.parametrize("size", BINS)
def test_any_number_of_descriptors_that_has_bins(size):
    corners = np.concatenate([np.zeros((1, size)), np.tril(np.ones((size, size)))])  # along one axis after another
    line = np.concatenate([np.linspace(*ends, 300) for ends in itertools.pairwise(0.9 * (2 * corners - 1))])
    roadmap = draw_roadmap(line, np.arange(len(line)) < len(line) - 1, np.ones(size))
    lengths, _ = find_way(roadmap, roadmap.nearest(0.9 * np.ones((1, size)))[0])
    assert lengths[roadmap.nearest(-0.9 * np.ones((1, size)))[0]] >= 1.6 * size
    assert (np.abs(roadmap.places) <= 1).all()


def test_long_steps_pass_what_lies_between():
    line = np.linspace((-0.9, 0.01), (0.9, 0.01), 16)
    roadmap = draw_roadmap(line, np.arange(16) < 15, np.ones(2))
    assert len(roadmap.places) > 38
    assert np.isfinite(find_way(roadmap, 0)[0]).all()


def test_nobody_moved():
    roadmap = draw_roadmap(np.zeros((5, 2)), np.array([True] * 4 + [False]), np.ones(2))
    assert len(roadmap.places) == 1
    assert find_way(roadmap, 0)[0] == [0.0]
