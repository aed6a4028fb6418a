import jax
import numpy as np
import pytest

from qdpg.learn.networks import flatten_population, init_mlp, init_population
from qdpg.memory.elites import Elites
from qdpg.play.player import make_player
from qdpg.tasks.point_maze import PointMaze

SIZES = (2, 8, 2)
SPEC = PointMaze().spec


def played(number, key=0):
    population = init_population(jax.random.key(key), number, SIZES)
    return population, make_player(PointMaze(horizon=30)).play(population, np.arange(number))


@pytest.mark.parametrize("cells", [(5, 5), 20])
def test_keeps_the_best_of_every_cell(cells):
    elites = Elites(SPEC, init_mlp(jax.random.key(0), SIZES), cells)
    population, rollouts = played(60)
    elites.add(population, rollouts, 3)
    index = elites.archive.index_of(rollouts.behaviours)
    best = {cell: rollouts.fitness[index == cell].max() for cell in np.unique(index)}
    data = elites.data()
    assert dict(zip(data["index"], data["objective"], strict=True)) == best
    assert len(elites) == len(best)
    assert elites.best_fitness == rollouts.fitness.max()
    assert elites.coverage == len(best) / elites.archive.cells
    assert elites.qd_score == pytest.approx(sum(f - SPEC.fitness_floor for f in best.values()))
    assert (data["generation"] == 3).all()


def test_equal_fitness_does_not_replace():
    elites = Elites(SPEC, init_mlp(jax.random.key(0), SIZES), (5, 5))
    population, rollouts = played(1)
    assert elites.add(population, rollouts, 0).tolist() == [2]
    other = jax.tree.map(lambda leaf: leaf + 1, population)
    assert elites.add(other, rollouts, 1).tolist() == [0]
    assert elites.data()["generation"].tolist() == [0]


@pytest.mark.parametrize("cells", [(5, 5), 20])
def test_load_gives_back_the_same(cells):
    elites = Elites(SPEC, init_mlp(jax.random.key(0), SIZES), cells, seed=7)
    elites.add(*played(60), 3)
    other = Elites(SPEC, init_mlp(jax.random.key(1), SIZES), cells, seed=7)
    other.load(elites.data())
    for name, array in elites.data().items():
        np.testing.assert_array_equal(array, other.data()[name], err_msg=name)
    first, second = (e.sample(np.random.default_rng(5), 9) for e in (elites, other))
    np.testing.assert_array_equal(flatten_population(first), flatten_population(second))


def test_sampling_is_uniform_over_cells():
    elites = Elites(SPEC, init_mlp(jax.random.key(0), SIZES), (5, 5))
    elites.add(*played(60), 0)
    drawn = flatten_population(elites.sample(np.random.default_rng(0), 3000))
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == len(elites)
    assert counts.max() / counts.min() < 1.5


def test_pressure_draws_the_better_elites():
    elites = Elites(SPEC, init_mlp(jax.random.key(0), SIZES), (5, 5))
    elites.add(*played(60), 0)
    drawn = elites.data()["solution"][elites.draw(np.random.default_rng(0), 3000, pressure=3.0)]
    best = elites.data()["solution"][elites.data()["objective"].argmax()]
    worst = elites.data()["solution"][elites.data()["objective"].argmin()]
    shares = [(drawn == policy).all(axis=1).mean() for policy in (best, worst)]
    number = len(elites)
    expected = [number ** (-1 / 3), 1 - ((number - 1) / number) ** (1 / 3)]  # u³ below 1/k, above 1 - 1/k
    np.testing.assert_allclose(shares, expected, atol=0.03)
    assert shares[1] > 0


def test_scores_may_take_the_place_of_fitness():
    elites = Elites(SPEC, init_mlp(jax.random.key(0), SIZES), (5, 5))
    elites.add(*played(60), 0)
    scores = np.zeros(len(elites))
    scores[3] = 1.0
    drawn = elites.draw(np.random.default_rng(0), 3000, pressure=3.0, scores=scores)
    assert np.bincount(drawn).argmax() == 3
    assert (drawn == 3).mean() == pytest.approx(len(elites) ** (-1 / 3), abs=0.03)  # u³ below 1/k
    fitness = elites.data()["objective"]
    same = (elites.draw(np.random.default_rng(0), 50, 3.0, each) for each in (None, fitness))
    np.testing.assert_array_equal(*same)


def test_extra_fields_are_remembered():
    elites = Elites(SPEC, init_mlp(jax.random.key(0), SIZES), (5, 5), extra_fields={"field": 3})
    population, rollouts = played(60)
    extra = np.arange(180, dtype=np.float32).reshape(60, 3)
    elites.add(population, rollouts, 0, field=extra)
    data, vectors = elites.data(), flatten_population(population)
    for solution, field in zip(data["solution"], data["field"], strict=True):
        np.testing.assert_array_equal(extra[(vectors == solution).all(axis=1)][0], field)
    again = Elites(SPEC, init_mlp(jax.random.key(0), SIZES), (5, 5), extra_fields={"field": 3})
    again.load(data)
    np.testing.assert_array_equal(again.data()["field"], data["field"])
