"""Thresholds rise as those of pyribs' archives do."""

import numpy as np
import pytest
from ribs.archives import GridArchive

from qdpg.memory.annealing import anneal, find_improvements


@pytest.mark.parametrize("rate", [0.0, 0.1, 1.0])
def test_improvements_and_thresholds_are_those_of_pyribs(rate):
    rng = np.random.default_rng(0)
    plain = GridArchive(solution_dim=1, dims=(3, 3), ranges=[(0, 1)] * 2, learning_rate=rate, threshold_min=-2.0)
    thresholds = np.full(9, -2.0)
    for _ in range(6):
        places, fitness = rng.random((20, 2)), rng.normal(-1.0, 1.5, 20)
        cells = plain.index_of(places)
        told = plain.add(np.zeros((20, 1)), fitness, places)
        np.testing.assert_allclose(find_improvements(thresholds, cells, fitness), told["value"])
        thresholds = anneal(thresholds, cells, fitness, rate)
        held = plain.data(["index", "threshold"], return_type="dict")
        np.testing.assert_allclose(thresholds[held["index"]], held["threshold"])
    assert (thresholds > -2.0).any() == (rate > 0)


def test_who_does_not_pass_moves_nothing():
    before = np.array([0.0, 5.0])
    np.testing.assert_array_equal(anneal(before, np.array([1, 1]), np.array([5.0, 4.0]), 0.5), before)
    assert anneal(before, np.array([0, 0]), np.array([4.0, 2.0]), 0.5).tolist() == [0.75 * 3.0, 5.0]
    assert before.tolist() == [0.0, 5.0]
