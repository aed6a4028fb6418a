"""Novelty of episodes, by hand."""

import jax
import numpy as np
import pytest

from qdpg.learn.networks import init_mlp, init_population
from qdpg.memory.compatibility import episode_novelty
from qdpg.memory.elites import Elites
from qdpg.memory.visited import Visited
from qdpg.play.rollouts import make_rollouts
from qdpg.tasks.point_maze import PointMaze

SPEC, SIZES = PointMaze().spec, (2, 8, 2)


def walk(*ways):
    """Episodes along the x-axis, through these places."""
    lengths, longest = np.array([len(way) - 1 for way in ways]), max(map(len, ways))
    descriptors = np.zeros((len(ways), longest, 2), np.float32)
    for n, way in enumerate(ways):
        descriptors[n, :, 0] = [*way, *[way[-1]] * (longest - len(way))]
    return make_rollouts(
        SPEC,
        seeds=np.arange(len(ways)),
        lengths=lengths,
        terminated=np.zeros(len(ways), bool),
        rewards=np.zeros((len(ways), longest - 1), np.float32),
        descriptors=descriptors,
        observations=None,
        actions=None,
    )


@pytest.fixture(scope="module")
def elites():
    """Two of them, whose behaviours are at -0.9 and at 0.5."""
    archive = Elites(SPEC, init_mlp(jax.random.key(0), SIZES), (5, 5))
    archive.add(init_population(jax.random.key(1), 2, SIZES), walk([0.0, -0.9], [0.0, 0.5]), 0)
    assert len(archive) == 2
    return archive


def test_novelty_of_states_is_summed_and_that_of_solutions_is_the_nearest_elites(elites):
    visited = Visited(2, 10, threshold=0.0, neighbours=1)
    visited.set(np.zeros((1, 2), np.float32))
    found = episode_novelty(walk([0.0, 0.25, -0.5, 0.75], [0.0, -0.5]), visited, elites)
    # The last state of an episode is not one that a step began in.
    np.testing.assert_allclose(found["state_novelty"], [0.0 + 0.25 + 0.5, 0.0])
    np.testing.assert_allclose(found["solution_novelty"], [0.25, 0.4], atol=1e-6)


def test_nothing_is_novel_while_nothing_is_known():
    empty = Elites(SPEC, init_mlp(jax.random.key(0), SIZES), (5, 5))
    found = episode_novelty(walk([0.0, 0.5, 0.75], [0.0, -0.5]), Visited(2, 10, 0.0, 1), empty)
    assert found["state_novelty"].tolist() == found["solution_novelty"].tolist() == [0, 0]


def test_measuring_changes_no_memory(elites):
    visited = Visited(2, 10, threshold=0.0, neighbours=1)
    visited.set(np.zeros((1, 2), np.float32))
    first, again = (episode_novelty(walk([0.0, 0.7, 0.9]), visited, elites) for _ in range(2))
    for name, numbers in first.items():
        np.testing.assert_array_equal(numbers, again[name])
    assert (len(visited), len(elites)) == (1, 2)
