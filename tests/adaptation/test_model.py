import dataclasses

import numpy as np
import pytest
from made_up import collection

from qdpg.adaptation.model import Settings, desirability, features
from qdpg.errors import UserError

PLACES = np.linspace(0, 1, 11)[:, None]


def worth(scores, tried, prior=None, **changes):
    prior = np.zeros(11) if prior is None else prior
    settings = Settings(**({"length_scales": (0.4,)} | changes))
    return desirability(PLACES, prior, np.array(tried), np.array(scores, float), settings)


@pytest.mark.parametrize("acquisition", ["ucb", "ei"])
def test_what_is_near_a_good_score_is_wanted_and_what_is_near_a_bad_one_is_not(acquisition):
    found = worth([-100.0, -10.0], [1, 9], acquisition=acquisition, kappa=0.5)
    assert found[10] > found[0]
    assert found[8] > found[2]
    assert np.isfinite(found).all()


def test_kappa_sends_the_search_where_nothing_is_known():
    assert worth([1.0, 1.1], [0, 1], kappa=10.0).argmax() > 5
    assert worth([1.0, 1.1], [0, 1], kappa=0.0).argmax() <= 3


def test_length_scales_take_turns():
    scores, tried, scales = [1.0, 1.1, 0.9], [0, 1, 2], (0.1, 0.3, 0.9)
    for number, scale in enumerate(scales, 1):
        in_turn = worth(scores[:number], tried[:number], length_scales=scales)
        np.testing.assert_array_equal(in_turn, worth(scores[:number], tried[:number], length_scales=(scale,)))


def test_features_are_shares_of_the_range_and_weighted_fitness():
    elites = collection([[-1, 0], [1, 0.5], [0, -1]], [-300.0, -100.0, -200.0])
    expected = [[0, 0.5, 0], [1, 0.75, 0.4], [0.5, 0, 0.2]]
    np.testing.assert_allclose(features(elites, Settings(fitness_weight=0.4)), expected)
    assert not features(collection([[0, 0]]), Settings())[:, 2].any(), "equal fitness tells nothing"


def test_ways_come_between_descriptors_and_fitness():
    elites, ways = collection([[-1, 0], [1, 0.5]], [-300.0, -100.0]), np.array([[0.0, 0.0], [1.0, -1.0]])
    expected = [[0, 0.5, 0.25, 0.25, 0], [1, 0.75, 0.5, 0, 1]]
    np.testing.assert_allclose(features(elites, Settings(way_weight=0.5), ways), expected)


def test_scores_count_by_their_differences_only():
    scores, tried = np.array([-3.0, -1.0, -2.0]), [0, 5, 10]
    np.testing.assert_allclose(worth(1000 * scores - 7, tried), worth(scores, tried), rtol=1e-9)


def test_a_prior_is_believed_where_nothing_was_tried_and_corrected_where_something_was():
    prior = np.where(np.arange(11) > 7, 5.0, 0.0)
    untouched = worth([0.0, 1.0], [0, 1], prior, kappa=0.0)
    assert untouched.argmax() > 7
    disappointed = worth([0.0, 1.0, -20.0], [0, 1, 9], prior, kappa=0.0)
    assert disappointed.argmax() < 5


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"nu": 3.0}, "nu is 3.0"),
        ({"length_scales": (0.2, 0.0)}, "length_scales and noise must be positive"),
        ({"length_scales": ()}, "there must be a length scale"),
        ({"noise": float("nan")}, "length_scales and noise must be positive"),
        ({"kappa": -1.0}, "must not be negative"),
        ({"fitness_weight": -1.0}, "must not be negative"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, sentence):
    with pytest.raises(UserError, match=sentence):
        dataclasses.replace(Settings(), **changes)
