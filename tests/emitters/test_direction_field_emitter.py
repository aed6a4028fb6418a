import jax.numpy as jnp
import numpy as np
import pytest
from small_emitters import NETWORKS, SETTINGS, assert_same, make_context, make_elites

from qdpg.emitters.direction_field import DirectionField
from qdpg.emitters.fields import FIELD, WEIGHTS, DirectionFields, count_mutated
from qdpg.emitters.objective import GradientObjective
from qdpg.learn.directions import RandomDirections
from qdpg.learn.networks import flatten_population

HELD = np.random.default_rng(2).normal(size=(15, 6)).astype(np.float32)
OBJECTIVE = GradientObjective(exploration_episodes=4, exploration_noise=0.3)


def minibatches(transitions):
    return RandomDirections(transitions, jnp.array([0.0, 1.0]))


def make_emitter(keeps_weights=False, objective=OBJECTIVE):
    fields = DirectionFields(NETWORKS, keeps_weights)
    return DirectionField("diversity", 5, fields, SETTINGS, minibatches, objective)


def test_offspring_are_the_greedy_policy_with_mutated_fields():
    emitter, elites = make_emitter(), make_elites(extra_fields={FIELD: HELD})
    selected = emitter.select(elites, np.random.default_rng(0))
    assert selected.shape == (5, 6)
    assert not any(field.tolist() in elites.data()[FIELD].tolist() for field in selected)
    context = make_context(emitter)
    offspring = emitter.emit(selected, context)
    assert_same(offspring.learned, emitter.train(context))
    assert_same(offspring.policies, emitter.fields.follow(offspring.learned, selected))
    np.testing.assert_array_equal(offspring.extra_fields[FIELD], selected)
    assert offspring.parents.tolist() == [-1] * 5  # the network is nobody's


def test_where_fields_of_elites_can_be_mutated_there_are_fewer():
    held = {FIELD: HELD, WEIGHTS: np.ones((15, 32))}
    elites, emitter = make_elites(extra_fields=held), make_emitter(keeps_weights=True)
    mutated = count_mutated(5, elites)
    assert mutated > 0
    assert len(emitter.select(elites, np.random.default_rng(0))) == 5 - mutated


def test_exploration_goes_straight_on_in_random_directions():
    emitter = make_emitter()
    elites = make_elites(extra_fields={FIELD: HELD})
    offspring = emitter.emit(emitter.select(elites, np.random.default_rng(0)), make_context(emitter))
    exploration = emitter.explore(offspring, np.random.default_rng(1))
    assert exploration.sigma == 0.3
    greedy = np.asarray(offspring.learned.greedy.online.weights[0])[:, :2]
    np.testing.assert_array_equal(exploration.policies.weights[0], np.repeat(greedy, 4, axis=0))  # the same everywhere
    assert len(np.unique(flatten_population(exploration.policies), axis=0)) == 4
    assert make_emitter(objective=GradientObjective()).explore(offspring, np.random.default_rng(1)) is None


@pytest.mark.parametrize("keeps_weights", [False, True])
def test_the_learner_sees_directions(keeps_weights):
    learner = make_context(make_emitter(keeps_weights)).learner
    assert learner.greedy.online.sizes[0] == 4
    assert learner.critics.online[0].sizes[0] == 6
