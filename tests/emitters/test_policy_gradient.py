import jax
import numpy as np
import pytest
from small_emitters import NETWORKS, SETTINGS, assert_same, differ, make_context, make_elites

from qdpg.emitters.emitter import find_starts
from qdpg.emitters.objective import GradientObjective, Objective
from qdpg.emitters.policy_gradient import PolicyGradient
from qdpg.learn.climbing import Stopped
from qdpg.learn.networks import flatten_population
from stage import EvenDraws

ELITES = make_elites()
PAPER = GradientObjective()


def make_emitter(objective=PAPER, rewards=(1.0, 0.0), size=3, settings=SETTINGS, **options):
    return PolicyGradient("quality", objective, rewards, size, NETWORKS, settings, **options)


def emit(emitter, seed=1, **context):
    selected = emitter.select(ELITES, np.random.default_rng(seed))
    return emitter.emit(selected, make_context(emitter, **context)), selected


def test_copies_of_elites_climb_and_train_the_critics():
    emitter = make_emitter()
    offspring, selected = emit(emitter)
    np.testing.assert_array_equal(offspring.parents, selected.rows)
    before = make_context(emitter).learner
    assert offspring.learned.greedy is None
    assert differ(offspring.learned.critics.online, before.critics.online)
    moved = flatten_population(offspring.policies) - ELITES.data()["solution"][selected.rows]
    assert (np.abs(moved).max(axis=1) > 1e-5).all()


def test_emitting_draws_nothing_and_leaves_elites_alone():
    emitter, before = make_emitter(), ELITES.data()["solution"].copy()
    assert_same(emit(emitter)[0], emit(emitter)[0])
    np.testing.assert_array_equal(ELITES.data()["solution"], before)


def test_without_gradient_steps_offspring_are_their_parents():
    offspring, selected = emit(make_emitter(), steps=0)
    np.testing.assert_array_equal(flatten_population(offspring.policies), ELITES.data()["solution"][selected.rows])


@pytest.mark.parametrize("pressure", [1.0, 5.0])
def test_parents_are_drawn_with_selection_pressure(pressure):
    number = len(ELITES)
    rows = (
        make_emitter(GradientObjective(selection_pressure=pressure), size=4 * number).select(ELITES, EvenDraws()).rows
    )
    if pressure == 1:
        assert np.bincount(rows).tolist() == [4] * number
    best = ELITES.data()["objective"].argmax()
    assert (rows == best).sum() == (EvenDraws().random(4 * number) < number ** (-1 / pressure)).sum()


def test_the_greedy_actor_is_the_first_of_the_offspring_and_trains_the_critics_alone():
    learned = []
    for steps in (1, 8):
        emitter = make_emitter(greedy_steps=steps)
        offspring, selected = emit(emitter)
        assert len(selected.rows) == 2
        np.testing.assert_array_equal(offspring.parents, np.append(-1, selected.rows))
        greedy = flatten_population(offspring.learned.greedy.online)[0]
        np.testing.assert_array_equal(flatten_population(offspring.policies)[0], greedy)
        learned.append(offspring.learned)
        assert_same(learned[-1], emitter.train(make_context(emitter)))
    assert_same(*learned)


def test_copies_climb_the_critics_as_they_are_after_training():
    """Steps of each copy are `greedy_steps`, whatever the number of gradient steps."""
    short, long = (emit(make_emitter(greedy_steps=steps, settings=SETTINGS), steps=6)[0] for steps in (2, 6))
    parents = ELITES.data()["solution"][short.parents[1:]]
    moved = [np.abs(flatten_population(each.policies)[1:] - parents).max() for each in (short, long)]
    assert 0 < 2 * moved[0] < moved[1]


def test_a_greedy_actor_may_be_alone():
    offspring, selected = emit(make_emitter(size=1, greedy_steps=3))
    assert len(selected.rows) == 0
    assert offspring.parents.tolist() == [-1]


@pytest.mark.parametrize("rate", [0.0, 0.02])
def test_copies_may_have_a_rate_of_their_own(rate):
    emitter = make_emitter(greedy_steps=3, offspring_rate=rate)
    selected = emitter.select(ELITES, np.random.default_rng(0))
    np.testing.assert_allclose(selected.actors.rates, rate)
    assert float(emitter.init(jax.random.key(0)).greedy.rates[0]) == pytest.approx(0.05)


def test_rates_may_be_spread():
    emitter = make_emitter(GradientObjective(rate_range=2.0), size=40)
    rates = np.asarray(emitter.select(ELITES, np.random.default_rng(0)).actors.rates)
    assert (rates <= 0.05).all()
    assert (rates >= 0.0005).all()
    assert len(set(rates.tolist())) == 40


@pytest.mark.parametrize("greedy_steps", [0, 3])
def test_copies_may_start_where_their_parent_did(greedy_steps):
    emitter = make_emitter(greedy_steps=greedy_steps)
    offspring, selected = emit(emitter)
    stored = ELITES.data()["seed"][selected.rows].tolist()
    expected = ([-1] if greedy_steps else []) + stored  # a greedy actor has no parent
    assert find_starts(ELITES, emitter, offspring).tolist() == expected
    emitter = make_emitter(greedy_steps=greedy_steps, rewards=(0.0, 1.0))  # who is to be different
    assert find_starts(ELITES, emitter, offspring).tolist() == [-1] * 3


@pytest.mark.parametrize(("first", "rows"), [(False, [0, 1, 2, 0]), (True, [0, 0, 0, 0])])
def test_exploration_episodes_are_played_by_the_offspring_in_turn_or_by_the_first(first, rows):
    objective = GradientObjective(exploration_episodes=4, exploration_noise=0.3)
    emitter = make_emitter(objective, explore_with_first=first)
    offspring, _ = emit(emitter)
    exploration = emitter.explore(offspring, np.random.default_rng(0))
    assert exploration.sigma == 0.3
    expected = flatten_population(offspring.policies)[rows]
    np.testing.assert_array_equal(flatten_population(exploration.policies), expected)
    assert make_emitter().explore(offspring, np.random.default_rng(0)) is None


def test_rewards_are_scaled_and_novelty_alone_is_shaped_in_minibatches():
    objective = Objective(reward_scale=20.0, shaped=True, discount=0.9)
    for rewards, weights, shaping in (
        ((1.0, 0.0), [20, 0], None),
        ((0.0, 1.0), [0, 20], 0.9),
        ((1.0, 1.0), [20, 20], 0.9),
    ):
        emitter = make_emitter(objective, rewards)
        minibatches = emitter._minibatches(make_context(emitter).transitions)
        assert minibatches.weights.tolist() == weights
        assert minibatches.shaping == shaping


def test_it_stops_when_it_is_to_stop():
    emitter = make_emitter()
    selected = emitter.select(ELITES, np.random.default_rng(1))
    with pytest.raises(Stopped):
        emitter.emit(selected, make_context(emitter)._replace(stop=lambda: True))
