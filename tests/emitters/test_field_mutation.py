import numpy as np
from small_emitters import NETWORKS, make_elites

from qdpg.emitters.field_mutation import FieldMutation
from qdpg.emitters.fields import FIELD, WEIGHTS, DirectionFields, count_mutated

RNG = np.random.default_rng(2)
HELD = {FIELD: RNG.normal(size=(40, 6)), WEIGHTS: RNG.normal(size=(40, 32))}
FIELDS = DirectionFields(NETWORKS, True)


def test_offspring_are_elites_whose_field_alone_has_changed():
    """Their first layer differs by what the change of the field adds to it: A to the weights, b to the biases."""
    elites = make_elites(40, HELD)
    emitter = FieldMutation(12, FIELDS, 3.0)
    offspring = emitter.emit(emitter.select(elites, np.random.default_rng(0)), None)
    data, rows = elites.data(), offspring.parents
    assert len(rows) == count_mutated(12, elites) > 4
    assert set(offspring.extra_fields) == {FIELD}  # how it enters is inherited
    parents = elites.policies(rows)
    for n, row in enumerate(rows):
        change = offspring.extra_fields[FIELD][n] - data[FIELD][row]
        entering = data[WEIGHTS][row].reshape(2, 16).astype(float)
        weights = parents.weights[0][n] + change[2:].reshape(2, 2).T @ entering
        biases = parents.biases[0][n] + change[:2] @ entering
        np.testing.assert_allclose(offspring.policies.weights[0][n], weights, atol=1e-5)
        np.testing.assert_allclose(offspring.policies.biases[0][n], biases, atol=1e-5)
        assert np.abs(change).max() > 1e-3
        for layer in (1, 2):
            np.testing.assert_array_equal(offspring.policies.weights[layer][n], parents.weights[layer][n])


def test_half_of_the_parents_are_good_and_half_are_lonely():
    elites = make_elites(40, HELD)
    emitter, number = FieldMutation(12, FIELDS, 1e9), count_mutated(12, elites)
    rows = emitter.select(elites, np.random.default_rng(0)).parents
    best = elites.data()["objective"].argmax()
    assert (rows[: number // 2] == best).all()
    assert not (rows[number // 2 :] == best).all()


def test_in_an_empty_archive_there_are_none():
    elites = make_elites(1, {name: held[:1] for name, held in HELD.items()}, cells=(50, 50))
    emitter = FieldMutation(12, FIELDS, 3.0)
    assert emitter.emit(emitter.select(elites, np.random.default_rng(0)), None) is None
