from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from qdpg.memory.visited import Visited, make_visited
from qdpg.tasks.ant_maze import AntMaze
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze


def judged_plainly(candidates, threshold, neighbours, held=()):
    """The rule of the paper, one candidate after another, by brute force."""
    archive = [np.asarray(h, np.float32) for h in held]
    for candidate in np.asarray(candidates, np.float32):
        distances = sorted(np.linalg.norm(candidate.astype(float) - a) for a in archive)[:neighbours]
        if not distances or np.mean(distances) > threshold:
            archive.append(candidate)
    return np.array(archive)


def test_filter_and_fifo_of_the_fact_sheet():
    values = np.array([[0.0], [0.05], [0.2], [0.25], [0.4]])
    visited = Visited(1, 100, threshold=0.1, neighbours=1)
    assert visited.add(values) == 3
    np.testing.assert_allclose(visited.descriptors[:, 0], [0, 0.2, 0.4])
    small = Visited(1, 2, threshold=0.1, neighbours=1)
    small.add(values)
    np.testing.assert_allclose(small.descriptors[:, 0], [0.2, 0.4])


@pytest.mark.parametrize(("kind", "expected"), [("mean", [0.5, 2.5]), ("sum", [1.0, 5.0]), ("squared", [0.5, 6.5])])
def test_novelty_of_the_fact_sheet(kind, expected):
    visited = Visited(2, 10, threshold=0.0, neighbours=2)
    visited.set(np.array([[0, 0], [1, 0], [0, 2]], np.float32))
    np.testing.assert_allclose(visited.novelty(np.array([[0, 0], [3, 0]]), kind), expected, atol=1e-6)


@pytest.mark.parametrize("neighbours", [1, 3, 10])
@pytest.mark.parametrize("batches", [1, 4])
def test_candidates_are_judged_one_after_another(neighbours, batches):
    points = np.random.default_rng(0).uniform(size=(400, 2))
    visited = Visited(2, 10_000, threshold=0.08, neighbours=neighbours)
    for part in np.array_split(points, batches):
        visited.add(part)
    expected = judged_plainly(points, 0.08, neighbours)
    assert 10 < len(expected) < 390  # the threshold really chooses
    np.testing.assert_array_equal(visited.descriptors, expected)


def test_while_fewer_than_k_are_held():
    visited = Visited(2, 10, threshold=0.5, neighbours=10)
    assert visited.novelty(np.ones((3, 2))).tolist() == [0, 0, 0]  # nothing to be far from
    assert visited.add(np.array([[0.0, 0.0]])) == 1
    np.testing.assert_allclose(visited.novelty(np.array([[3.0, 4.0]])), [5.0])
    assert visited.add(np.array([[0.1, 0.0], [1.0, 0.0]])) == 1
    np.testing.assert_allclose(visited.novelty(np.array([[0.0, 0.0]])), [0.5])


def test_novelty_is_the_brute_force_one():
    rng = np.random.default_rng(1)
    held, queries = rng.normal(size=(500, 3)).astype(np.float32), rng.normal(size=(200, 3)).astype(np.float32)
    visited = Visited(3, 1000, threshold=0.0, neighbours=10)
    visited.set(held)
    expected = np.sort(cdist(queries, held), axis=1)[:, :10].mean(axis=1)
    np.testing.assert_allclose(visited.novelty(queries), expected, rtol=1e-5)


def test_oldest_leave_first():
    visited = Visited(1, 3, threshold=0.5, neighbours=1)
    for value in range(5):
        visited.add(np.array([[float(value)]]))
    assert visited.descriptors[:, 0].tolist() == [2, 3, 4]


def test_gradient_is_that_of_novelty():
    rng = np.random.default_rng(2)
    visited = Visited(2, 1000, threshold=0.0, neighbours=7)
    assert not visited.novelty_gradient(np.ones((3, 2), np.float32)).any()  # nothing to be far from
    visited.set(rng.normal(size=(300, 2)).astype(np.float32))
    queries, step = rng.normal(size=(100, 2)).astype(np.float32), 1e-4

    def novelty(at):
        return np.sort(cdist(at, visited.descriptors), axis=1)[:, :7].mean(axis=1)

    sides = [novelty(queries.astype(float) + sign * step * axis) for axis in np.eye(2) for sign in (1, -1)]
    expected = np.stack([(sides[0] - sides[1]) / (2 * step), (sides[2] - sides[3]) / (2 * step)], axis=1)
    np.testing.assert_allclose(visited.novelty_gradient(queries), expected, atol=1e-3)
    outside = visited.novelty_gradient(np.array([[100.0, 0.0]], np.float32))
    np.testing.assert_allclose(outside, [[1, 0]], atol=0.05)  # away from all of them
    assert np.isfinite(
        visited.novelty_gradient(visited.descriptors)
    ).all()  # a state that is itself held has no direction


def make(task, threshold):
    return make_visited(task.spec, SimpleNamespace(visited_size=500, visited_threshold=threshold, neighbours=7))


@pytest.mark.parametrize(
    ("task", "span", "paper"), [(PointMaze(), 2, 1e-4), (AntMaze(), 70, 0.1), (AntTrap(), 23, 0.1), (AntTrap(), 23, 1)]
)
def test_threshold_is_a_share_of_the_mean_range(task, span, paper):
    """So what the paper has in the units of ψ comes out as it is there, to the last bit."""
    visited = make(task, paper / span)
    assert visited.threshold == paper
    assert (visited.capacity, visited.neighbours, visited.descriptors.shape) == (500, 7, (0, 2))
    assert make(task, 0.0).threshold == 0.0


def test_the_same_share_accepts_the_same_states_on_any_scale():
    points = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    numbers = [make(PointMaze(), 0.08).add(points), make(AntTrap(), 0.08).add(points * 23 / 2)]
    assert 10 < numbers[0] < 290  # the threshold really chooses
    assert numbers[0] == numbers[1]


def test_what_is_held_is_not_its_own_neighbour():
    visited = Visited(1, 10, threshold=0.0, neighbours=1)
    held = np.array([[0.0], [1.0], [3.0]], np.float32)
    visited.set(held[:1])
    assert visited.novelty(held[:1], held=True).tolist() == [0]
    visited.set(held)
    assert visited.novelty(held).tolist() == [0, 0, 0]
    assert visited.novelty(held, held=True).tolist() == [1, 1, 2]
