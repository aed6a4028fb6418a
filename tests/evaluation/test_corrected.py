"""The corrected archive."""

import numpy as np
import pytest
from ribs.archives import GridArchive

from qdpg.evaluation.corrected import loss, score


@pytest.fixture
def archive():
    return GridArchive(solution_dim=1, dims=(4, 1), ranges=[(0, 4), (0, 1)])


def test_each_cell_counts_once_with_its_best(archive):
    found = score(archive, -10.0, np.array([1.0, 3.0, -2.0]), np.array([[0.5, 0.5], [0.6, 0.5], [2.5, 0.5]]))
    assert found == (13.0 + 8.0, 2, 0.5, 3.0)
    assert len(archive) == 0


def test_nothing_is_worth_nothing(archive):
    assert score(archive, -10.0, np.zeros(0), np.zeros((0, 2))) == (0.0, 0, 0.0, -np.inf)


def test_loss():
    assert loss(200.0, 150.0) == 0.25
    assert loss(100.0, 110.0) == pytest.approx(-0.1)
    assert np.isnan(loss(0.0, 0.0))
