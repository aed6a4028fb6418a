"""NS-ES, NSR-ES and NSRA-ES: weights, parents and whether they search."""

import numpy as np
import pytest
from strategies import evolve, learn, make_strategy, score_of_best

from qdpg.algorithms.ns_es import Config, Weight
from qdpg.memory.visited import Visited
from qdpg.tasks.point_maze import PointMaze


def weights(series, start=0.5, **settings):
    weight, values = Weight(np.asarray(start), np.asarray(-np.inf), np.asarray(0)), []
    for fitness in series:
        weight = weight.adapt(fitness, Config(**settings))
        values.append(float(weight.value))
    return values


def test_nsra_weight_sequence():
    """The first counts as improvement; a better one must exceed the best by a tenth of its size; 20 others lower it."""
    values = weights([-60] + [-59] * 20 + [-53] + [-49, -47])
    assert values == pytest.approx([0.55] * 20 + [0.50, 0.55, 0.55, 0.60])


def test_nsra_weight_stays_between_zero_and_one():
    assert max(weights(np.arange(1, 40) ** 3.0)) == 1.0
    assert min(weights([-1.0] * 400)) == 0.0
    assert weights([-1.0] * 42)[-1] == pytest.approx(0.45)  # the counter starts afresh: 20 more for the second fall


def test_nsra_of_the_first_paper():
    """Any improvement counts, and patience is 50 generations."""
    values = weights([-60, -59.9] + [-70] * 50, start=0.9, patience=50, improvement=0.0)
    assert values[:2] == pytest.approx([0.95, 1.0])
    assert values[-2:] == pytest.approx([1.0, 0.95])


@pytest.mark.parametrize(("name", "expected"), [("ns-es", 0.0), ("nsr-es", 0.5)])
def test_fixed_weights(name, expected):
    algorithm = make_strategy(name)
    evolve(algorithm)
    assert [evolve(algorithm)[1]["fitness_weight"] for _ in range(3)] == [expected] * 3


def test_nsra_adapts_as_it_goes():
    algorithm = make_strategy("nsra-es", patience=2)
    evolve(algorithm)
    used = [evolve(algorithm)[1]["fitness_weight"] for _ in range(8)]
    assert used[:2] == pytest.approx([0.5, 0.55])
    assert len(set(used[2:])) > 1


def test_novelty_values_of_behaviours_that_are_held():
    """Distances to the others: 1 and 2, 1 and √5, 2 and √5."""
    visited = Visited(2, 10, threshold=-1.0, neighbours=2)
    visited.add(np.array([[0, 0], [1, 0], [0, 2]]))
    expected = [2.5, 3.0, 4.5]
    np.testing.assert_allclose(visited.novelty(visited.descriptors, "squared", held=True), expected, atol=1e-6)
    np.testing.assert_allclose(visited.novelty(visited.descriptors[:1], "mean", held=True), [1.5])
    np.testing.assert_allclose(visited.novelty(np.array([[3.0, 0.0]]), "squared"), [6.5])
    alone = Visited(2, 10, threshold=-1.0, neighbours=2)
    alone.add(np.array([[1.0, 1.0], [1.0, 1.0]]))  # every behaviour is kept
    assert len(alone) == 2
    assert alone.novelty(alone.descriptors[:1], held=True).tolist() == [0.0]


def test_parents_are_drawn_in_proportion_to_novelty():
    algorithm = make_strategy("ns-es", parents=3)
    evolve(algorithm)
    behaviours = np.array([[0, 0], [0.1, 0], [1, 0]], np.float32)
    algorithm._state = algorithm._state._replace(behaviours=behaviours)
    algorithm.visited.set(behaviours)
    novelty = np.array([0.01 + 1, 0.01 + 0.81, 1 + 0.81]) / 2
    drawn = [algorithm._start(np.random.default_rng(i)).member for i in range(1500)]
    np.testing.assert_allclose(np.bincount(drawn) / 1500, novelty / novelty.sum(), atol=0.04)


def test_only_the_chosen_parent_moves_and_its_behaviour_joins_the_archive():
    algorithm = make_strategy("nsr-es")
    evolve(algorithm, 3)
    before = algorithm._state
    generation, _ = evolve(algorithm)
    member, after = generation.learned.start.member, algorithm._state
    changed = (after.policies != before.policies).any(axis=1)
    assert np.flatnonzero(changed).tolist() == [member]
    counts = [int(new.count) - int(old.count) for new, old in zip(after.optimisers, before.optimisers, strict=True)]
    assert counts == [int(i == member) for i in range(5)]
    assert len(algorithm.visited) == 5 + 3
    np.testing.assert_array_equal(algorithm.visited.descriptors[-1], after.behaviours[member])


def test_ns_es_goes_where_it_has_not_been():
    """From policies that hardly move, novelty alone spreads over the lower part of the maze."""
    algorithm, filled = learn("ns-es", PointMaze(horizon=60), evaluations=1)
    assert np.ptp(algorithm.visited.descriptors[:5], axis=0).max() < 0.4  # where it started
    _, downhill = learn("ns-es", PointMaze(horizon=60), evaluations=1, downhill=True)
    assert filled[-1] >= max(8, downhill[-1] + 3), (filled[-1], downhill[-1])


@pytest.mark.parametrize("name", ["nsr-es", "nsra-es"])
def test_with_fitness_an_open_way_is_learned(name):
    """A goal with no wall before it: a straight way of seven steps costs about -2.5, standing still about -37."""
    task = PointMaze(goal=(-0.6, -0.7), horizon=60)
    algorithm, _ = learn(name, task)
    assert score_of_best(algorithm) > -8
