import jax
import numpy as np
import pytest
from small import TASK, advance, small

from qdpg.play.player import make_player

pytestmark = [pytest.mark.xdist_group("baselines")]


def test_without_weight_it_is_td3():
    player, plain, curious = make_player(TASK), small("td3"), small("rnd", beta=0.0)
    for algorithm in (plain, curious):
        advance(algorithm, player, 8)
    for a, b in zip(*(jax.tree.leaves(x._state.learners) for x in (plain, curious)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_bonus_matters_and_the_target_is_never_trained():
    player, plain, curious = make_player(TASK), small("td3"), small("rnd", beta=5.0)
    before = curious._state.extra
    for algorithm in (plain, curious):
        advance(algorithm, player, 8)
    after = curious._state.extra
    for a, b in zip(jax.tree.leaves(before.target), jax.tree.leaves(after.target), strict=True):
        np.testing.assert_array_equal(a, b)
    assert np.abs(np.asarray(before.predictor.weights[0]) - np.asarray(after.predictor.weights[0])).max() > 1e-3
    critics = [np.asarray(x._state.learners[0].critics.online[0].weights[0]) for x in (plain, curious)]
    assert np.abs(critics[0] - critics[1]).max() > 1e-3
