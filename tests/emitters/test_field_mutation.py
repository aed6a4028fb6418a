import jax
import numpy as np
from small_emitters import NETWORKS, SETTINGS, SPEC, make_elites

from qdpg.emitters.field_mutation import FieldMutation
from qdpg.emitters.fields import FIELD, WEIGHTS, DirectionFields, count_mutated
from qdpg.emitters.learner import Networks
from qdpg.learn.navigation import HINGES, Field
from qdpg.learn.networks import flatten_population

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


def test_a_navigation_field_is_changed_by_as_much_as_is_drawn():
    """The policy does what it would do if the field that it was planned with had that change in it."""
    networks = Networks(SPEC, (16, 16), output="linear", navigates=True)
    fields = DirectionFields(networks, keeps_weights=True)
    learner = networks.init_learner(jax.random.key(1), SETTINGS, with_greedy=True, further_inputs=2)
    rng = np.random.default_rng(3)
    planned = Field(rng.normal(size=(3, 3, 2)), rng.normal(size=(3, 3, HINGES)), rng.normal(size=(3, HINGES, 2)))
    remembered = fields.remember(learner, np.zeros((3, 6), np.float32))
    assert not remembered[FIELD].any()
    change = rng.normal(size=(3, 6))
    changed = fields.add(fields.navigate(learner, planned), remembered[WEIGHTS], change)
    linear = planned.linear.copy()
    linear[:, 0] += change[:, :2]
    linear[:, 1:] += change[:, 2:].reshape(3, 2, 2).transpose(0, 2, 1)
    expected = fields.navigate(learner, planned._replace(linear=linear))
    np.testing.assert_allclose(flatten_population(changed), flatten_population(expected), atol=2e-5)
    assert np.abs(changed.weights[1] - fields.navigate(learner, planned).weights[1]).max() > 0.01


def test_offspring_of_navigation_fields_remember_none():
    networks = Networks(SPEC, (16, 16), output="linear", navigates=True)
    fields = DirectionFields(networks, keeps_weights=True)
    held = {FIELD: np.zeros((40, 6)), WEIGHTS: RNG.normal(size=(40, 32))}
    elites = make_elites(40, held, networks)
    offspring = FieldMutation(12, fields, 3.0).select(elites, np.random.default_rng(0))
    parents = elites.policies(offspring.parents)
    assert not offspring.extra_fields[FIELD].any()
    changes = np.abs(offspring.policies.weights[1] - parents.weights[1]).max(axis=(1, 2))
    assert 0 < changes.min() < 0.3 * changes.max()  # by much or by little
