"""An archive whose elites are played again."""

import jax
import numpy as np
import pytest

from qdpg.learn.networks import MLP, flatten_population, init_mlp, init_population
from qdpg.memory.reevaluated import NEW, ArchiveSettings, ReevaluatedElites, rank_in_cells
from qdpg.memory.trials import Worth
from qdpg.play.rollouts import Rollouts
from qdpg.tasks.point_maze import PointMaze

SPEC = PointMaze().spec
TEMPLATE = init_mlp(jax.random.key(0), (2, 3, 2))
ONE = (0.1, 0.1)  # a place in the middle of a cell of 5×5
OTHER = (0.9, 0.9)


def archive(depth=3, most=4, **extra):
    return ReevaluatedElites(SPEC, TEMPLATE, (5, 5), 0, extra or None, ArchiveSettings(1.0, depth, most))


def policies(number, seed=0) -> MLP:
    return jax.tree.map(np.asarray, init_population(jax.random.key(seed), number, (2, 3, 2)))


def rollouts(fitness, places, first_seed=0) -> Rollouts:
    number, zeros = len(fitness), np.zeros((len(fitness), 1), np.float32)
    return Rollouts(
        seeds=first_seed + np.arange(number),
        noise=np.zeros(number, np.float32),
        lengths=np.full(number, 7, np.int32),
        terminated=np.zeros(number, bool),
        rewards=zeros,
        descriptors=np.zeros((number, 2, 2), np.float32),
        observations=None,
        actions=None,
        returns=np.array(fitness, np.float64),
        fitness=np.array(fitness, np.float64),
        behaviours=np.array(places, np.float32),
    )


def again(elites, entry, fitness, place, seed=100):
    entries = np.array([entry])
    return elites.add(elites.entry_policies(entries), rollouts([fitness], [place], seed), 1, entries=entries)


def test_a_first_episode_is_as_in_any_archive():
    elites = archive()
    status = elites.add(policies(2), rollouts([1.0, 2.0], [ONE, OTHER]), 5)
    assert status.tolist() == [2, 2]
    data = elites.data()
    assert data["objective"].tolist() == [1.0, 2.0]
    assert data["generation"].tolist() == [5, 5]
    assert data["seed"].tolist() == [0, 1]
    assert (len(elites), elites.best_fitness, elites.coverage) == (2, 2.0, 2 / 25)
    assert elites.qd_score == pytest.approx(3.0 - 2 * SPEC.fitness_floor)


def test_an_elite_has_the_mean_of_its_episodes():
    elites = archive()
    elites.add(policies(1), rollouts([1.0], [ONE]), 0)
    again(elites, 0, 3.0, (0.12, 0.06))
    data = elites.data()
    assert data["objective"].tolist() == [2.0]
    np.testing.assert_allclose(data["measures"], [[0.11, 0.08]], rtol=1e-6)
    assert data["episodes"].tolist() == [2]
    assert data["trial_seeds"][0, :2].tolist() == [0, 100]
    assert data["trial_fitness"][0, :2].tolist() == [1.0, 3.0]


def test_an_elite_moves_to_the_cell_of_its_mean():
    elites = archive()
    elites.add(policies(1), rollouts([1.0], [ONE]), 0)
    before = elites.data()["index"][0]
    for seed in range(3):
        again(elites, 0, 1.0, OTHER, seed)
    data = elites.data()
    assert len(elites) == 1
    assert data["index"][0] != before
    assert elites.archive.index_of(data["measures"]).tolist() == data["index"].tolist()
    assert elites.archive.data("index").tolist() == data["index"].tolist()


def test_whoever_loses_a_cell_leaves_it_to_the_next():
    elites = archive()
    elites.add(policies(2), rollouts([5.0, 1.0], [ONE, ONE]), 0)
    assert elites.data()["objective"].tolist() == [5.0]
    for seed in range(4):
        again(elites, 0, 5.0, OTHER, seed)
    data = dict(zip(elites.data()["index"].tolist(), elites.data()["objective"].tolist(), strict=True))
    assert data[int(elites.archive.index_of(np.array([ONE], np.float32))[0])] == 1.0


def test_luck_does_not_last():
    # A policy that once did well but mostly does badly, against one that always does fairly well.
    elites = archive(most=6)
    elites.add(policies(2), rollouts([10.0, 6.0], [ONE, ONE]), 0)
    elites.add(policies(1, seed=9), rollouts([0.0], [OTHER]), 0)  # so that fitness has a range
    lucky = flatten_population(policies(2))[0]
    assert np.array_equal(elites.data()["solution"][0], lucky)
    for seed in range(4):
        rows = elites.choose(np.random.default_rng(seed), 9)
        for row in rows:
            is_lucky = np.array_equal(flatten_population(elites.entry_policies(np.array([row])))[0], lucky)
            place = ONE if elites.state()["trial_behaviours"][row, 0, 0] < 0.5 else OTHER
            entry_fitness = 1.0 if is_lucky else float(elites.state()["trial_fitness"][row, 0])
            again(elites, row, entry_fitness, place, 50 + seed)
    assert not np.array_equal(elites.data()["solution"][0], lucky)
    assert elites.data()["objective"][0] == 6.0


def test_nobody_is_played_more_often_than_wanted():
    elites = archive(most=3)
    elites.add(policies(2), rollouts([1.0, 2.0], [ONE, OTHER]), 0)
    rng = np.random.default_rng(0)
    for _ in range(2):
        chosen = elites.choose(rng, 10)
        assert sorted(chosen.tolist()) == [0, 1]
        elites.add(elites.entry_policies(chosen), rollouts([1.0, 2.0], [ONE, OTHER]), 1, entries=chosen)
    assert len(elites.choose(rng, 10)) == 0


def test_an_elite_is_as_reliable_as_its_episodes_end_in_its_cell():
    elites = archive()
    elites.add(policies(2), rollouts([1.0, 2.0], [ONE, OTHER]), 0)
    assert elites.reliability()[0] == elites.reliability()[1] < 1
    first = elites.data()["index"].tolist().index(elites.archive.index_of_single(ONE))
    again(elites, first, 1.0, ONE)
    again(elites, 1 - first, 2.0, (0.5, 0.9))
    kept, missed = elites.reliability()[[first, 1 - first]]
    assert kept > 0.7
    assert missed < 0.5


def test_those_who_played_least_are_chosen_first():
    elites = archive(most=5)
    elites.add(policies(2), rollouts([1.0, 2.0], [ONE, OTHER]), 0)
    again(elites, 0, 1.0, ONE)
    assert elites.choose(np.random.default_rng(0), 1).tolist() == [1]


def test_a_cell_keeps_so_many_and_its_elite_among_them():
    elites = archive(depth=2)
    elites.add(policies(6), rollouts([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [ONE] * 6), 0)
    assert len(elites.state()["episodes"]) == 2
    assert elites.data()["objective"].tolist() == [6.0]


def test_a_state_that_is_loaded_goes_on_like_the_one_that_was_not_stopped():
    one, other = archive(field=2), archive(field=2)
    fields = {"field": np.arange(8, dtype=np.float32).reshape(4, 2)}
    one.add(policies(4), rollouts([1.0, 2.0, 3.0, 4.0], [ONE, OTHER, ONE, (0.5, 0.5)]), 0, **fields)
    other.load(one.state())
    for elites in (one, other):
        chosen = elites.choose(np.random.default_rng(3), 2)
        entries = np.concatenate([chosen, [NEW]])
        offered = jax.tree.map(lambda *parts: np.concatenate(parts), elites.entry_policies(chosen), policies(1, seed=4))
        given = np.concatenate([elites.entry_fields(chosen)["field"], [[7.0, 7.0]]])
        elites.add(offered, rollouts([2.0, 2.5, 9.0], [ONE, OTHER, OTHER]), 1, entries=entries, field=given)
    assert one.state().keys() == other.state().keys()
    for name, values in one.state().items():
        np.testing.assert_array_equal(values, other.state()[name], err_msg=name)
    for name, values in one.data().items():
        np.testing.assert_array_equal(values, other.data()[name], err_msg=name)
    assert one.qd_score == other.qd_score


def test_entries_remember_their_extra_fields():
    elites = archive(field=1)
    elites.add(policies(2), rollouts([1.0, 2.0], [ONE, OTHER]), 0, field=np.array([[3.0], [4.0]]))
    assert elites.data()["field"].tolist() == [[3.0], [4.0]]
    assert elites.entry_fields(np.array([1]))["field"].tolist() == [[4.0]]


def test_ranks_in_cells():
    worth = Worth(np.array([5.0, 4.0, 1.0, 3.0]), np.array([0.5, 2.0, 0.1, 0.0]))
    leads, rivals, kept = rank_in_cells(np.array([7, 7, 7, 2]), worth, depth=3)
    assert leads.tolist() == [True, False, False, True]
    assert rivals.tolist() == [True, True, False, True]
    assert kept.tolist() == [True, True, False, True], "who cannot lead any more is forgotten"
    assert rank_in_cells(np.array([7, 7, 7, 2]), worth, depth=1)[2].tolist() == [True, False, False, True]


def test_nothing_offered_changes_nothing():
    elites = archive()
    assert elites.add(policies(0), rollouts([], np.zeros((0, 2))), 0).tolist() == []
    assert len(elites) == 0
    assert elites.best_fitness == -np.inf
