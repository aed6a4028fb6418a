import numpy as np
import pytest
from small_emitters import make_elites

from qdpg.emitters.emitter import find_starts
from qdpg.emitters.iso_line import IsoLine, IsoLineSettings
from qdpg.learn.networks import flatten_population
from stage import EvenDraws


class EvenDrawsWithoutChange(EvenDraws):
    def standard_normal(self, shape, dtype=float):
        return np.zeros(shape, dtype)


def test_without_an_isotropic_part_offspring_lie_on_the_line_to_another_elite():
    elites = make_elites()
    offspring = IsoLine(50, IsoLineSettings(0.0, 0.5)).select(elites, np.random.default_rng(1))
    held, children = elites.data()["solution"].astype(float), flatten_population(offspring.policies)
    for child, parent in zip(children - held[offspring.parents], offspring.parents, strict=True):
        lines = held - held[parent]
        # All parameters move by the same share of the way to one of the others, or none moves.
        shares = lines @ child / np.maximum((lines**2).sum(axis=1), 1e-9)
        assert np.abs(child - shares[:, None] * lines).max(axis=1).min() < 1e-6


def test_without_a_line_every_parameter_moves_on_its_own():
    elites = make_elites()
    offspring = IsoLine(50, IsoLineSettings(0.1, 0.0)).select(elites, np.random.default_rng(1))
    moved = flatten_population(offspring.policies) - elites.data()["solution"][offspring.parents]
    assert moved.std() == pytest.approx(0.1, rel=0.02)
    assert abs(np.corrcoef(moved)[0, 1]) < 0.2


@pytest.mark.parametrize("pressure", [1.0, 3.0])
def test_parents_are_drawn_with_selection_pressure(pressure):
    elites = make_elites()
    settings, number = IsoLineSettings(0.01, 0.2, pressure), len(elites)
    rows = IsoLine(8 * number, settings).select(elites, EvenDrawsWithoutChange()).parents
    ranks = np.argsort(np.argsort(-elites.data()["objective"]))[rows]
    expected = (number * EvenDraws().random(8 * number) ** pressure).astype(int)
    np.testing.assert_array_equal(ranks, expected)
    assert (pressure > 1) == ((ranks < number / 2).mean() > 0.6)


def test_offspring_may_start_where_their_parent_did():
    elites, emitter = make_elites(), IsoLine(6, IsoLineSettings())
    offspring = emitter.select(elites, np.random.default_rng(1))
    expected = elites.data()["seed"][offspring.parents]
    np.testing.assert_array_equal(find_starts(elites, emitter, offspring), expected)


def test_what_was_selected_is_emitted_as_it_is():
    emitter = IsoLine(6, IsoLineSettings())
    selected = emitter.select(make_elites(), np.random.default_rng(1))
    assert emitter.emit(selected, None) is selected
