"""What several episodes say about a policy."""

import numpy as np
import pytest

from qdpg.memory.trials import PRIOR_HITS, appraise, mean_over


def test_means_are_over_the_episodes_that_were_played():
    values = np.array([[1.0, 2.0, 99.0], [5.0, 99.0, 99.0]])
    np.testing.assert_array_equal(mean_over(values, np.array([2, 1])), [1.5, 5.0])
    places = np.stack([values, -values], axis=-1)
    np.testing.assert_array_equal(mean_over(places, np.array([2, 1])), [[1.5, -1.5], [5.0, -5.0]])


def appraise_all(fitness, hits, episodes=None):
    fitness, hits = np.array(fitness, float), np.array(hits, bool)
    return appraise(fitness, hits, np.full(len(fitness), fitness.shape[1]) if episodes is None else np.array(episodes))


def test_of_two_that_always_hit_the_fitter_is_worth_more():
    worth = appraise_all([[10.0] * 6, [20.0] * 6], [[1] * 6] * 2)
    assert worth.mean[1] > worth.mean[0]
    assert worth.low[1] > worth.high[0]


def test_of_two_that_are_as_fit_the_one_that_hits_is_worth_more():
    worth = appraise_all([[10.0] * 6] * 2 + [[5.0] * 6], [[1] * 6, [1, 0] * 3, [1] * 6])
    assert worth.mean[0] > worth.mean[1]


def test_one_lucky_episode_does_not_beat_a_policy_that_is_known_to_hit():
    # The newcomer's episode was a little better, and hits its own cell by definition.
    worth = appraise_all(
        [[10.0] * 8, [11.0] + [0.0] * 7, [5.0] * 8], [[1] * 7 + [0], [1] + [0] * 7, [0, 1] * 4], [8, 1, 8]
    )
    assert worth.low[1] < worth.low[0]
    assert worth.high[1] > worth.low[0], "but it may turn out to be better, and is worth another episode"


def test_certainty_grows_with_episodes():
    few = appraise_all([[10.0, 12.0], [10.0, 12.0]], [[1, 0]] * 2)
    many = appraise_all([[10.0, 12.0] * 4, [10.0, 12.0] * 4], [[1, 0] * 4] * 2)
    assert (many.error < few.error).all()


def test_what_was_not_played_does_not_count():
    one = appraise_all([[10.0, 5.0], [3.0, 4.0]], [[1, 1], [1, 0]], [1, 2])
    other = appraise_all([[10.0, 500.0], [3.0, 4.0]], [[1, 0], [1, 0]], [1, 2])
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.error, other.error)


@pytest.mark.parametrize("fitness", [0.0, -7.5, 1e6])
def test_policies_that_are_all_alike_have_a_finite_worth(fitness):
    worth = appraise_all([[fitness] * 3] * 2, [[1] * 3] * 2)
    assert np.isfinite(worth.mean).all()
    assert np.isfinite(worth.error).all()
    assert (worth.mean >= 0).all()


def test_units_of_fitness_do_not_matter():
    rng = np.random.default_rng(0)
    fitness, hits = rng.normal(size=(5, 6)), rng.random((5, 6)) < 0.6
    plain, scaled = appraise_all(fitness, hits), appraise_all(1000 * fitness - 50, hits)
    np.testing.assert_allclose(scaled.mean, 1000 * plain.mean)
    np.testing.assert_allclose(scaled.error, 1000 * plain.error)


def test_the_share_of_hits_is_learned_from_those_who_played_often():
    # Two newcomers that are alike: among policies that mostly miss, a first hit says less.
    veterans = [[10.0] * 8] * 3
    among = [
        appraise_all([*veterans, [10.0] * 8], [[share] * 8] * 3 + [[1] * 8], [8, 8, 8, 1]).mean[3] for share in (0, 1)
    ]
    alone = appraise_all([[10.0] * 8, [9.0] * 8], [[1] * 8] * 2, [1, 1]).mean[0]
    assert among[0] < among[1]
    assert 0 < PRIOR_HITS < 1
    assert alone > 0
