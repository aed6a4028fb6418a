"""Reset seeds by purpose."""

import itertools

import numpy as np
import pytest

from qdpg.algorithms.pieces import draw_seeds
from qdpg.play.starts import TRAINING, fresh_starts

PURPOSES = ("look-choose", "look-report", "population", "choose", "report", "adapt", "watch")


@pytest.mark.parametrize("seed", [(), (0,), (7,), (3, 2**31 - 1)])
@pytest.mark.parametrize("purpose", PURPOSES)
def test_no_seed_is_one_of_training_and_none_wraps_around(purpose, seed):
    starts = fresh_starts(purpose, 500, *seed)
    assert starts.dtype == np.int64
    assert len(set(starts.tolist())) == 500
    assert starts.min() >= TRAINING
    assert starts.max() < 2**32, "JAX tasks take seeds of 32 bits"


def test_training_draws_below():
    assert draw_seeds(np.random.default_rng(0), 10_000).max() < TRAINING


def test_purposes_never_share_a_seed():
    # Enough draws to come near both ends of every range.
    drawn = [np.concatenate([fresh_starts(p, 5, seed) for seed in range(500)]) for p in PURPOSES]
    for one, other in itertools.combinations(drawn, 2):
        assert one.max() < other.min() or other.max() < one.min()


def test_the_same_seed_gives_the_same_and_another_others():
    assert np.array_equal(fresh_starts("choose", 5, 1), fresh_starts("choose", 5, 1))
    assert not set(fresh_starts("choose", 5, 1).tolist()) & set(fresh_starts("choose", 5, 2).tolist())
    assert np.array_equal(fresh_starts("choose", 9, 1)[:5], fresh_starts("choose", 5, 1))
