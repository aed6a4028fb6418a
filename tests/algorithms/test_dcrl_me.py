"""DCRL-ME: what is wanted of policies, what they reach, and the actor that can be asked for anything."""

import numpy as np
import pytest
from small import TASK, advance, small, small_config

from qdpg.algorithms.registry import make_algorithm
from qdpg.emitters.descriptor_gradient import WANTED, from_minus_one
from qdpg.errors import UserError
from qdpg.learn.networks import flatten_population
from qdpg.play.player import make_player

pytestmark = [pytest.mark.xdist_group("baselines")]


@pytest.fixture(scope="module")
def played():
    """An algorithm after two generations, the third that it proposes, and what came of that."""
    algorithm, player = small("dcrl-me", seed=2, **{"quality.exploration_episodes": 1}), make_player(TASK)
    advance(algorithm, player, 2)
    elites, before = algorithm.elites.data(), len(algorithm.replay)
    generation = algorithm.ask()
    rollouts = generation.play(player)
    algorithm.tell(generation, rollouts)
    return algorithm, elites, before, generation, rollouts


def test_climbing_offspring_want_what_their_parent_reached_and_others_what_they_reach(played):
    _, elites, _, generation, _ = played
    wanted = generation.extra_fields[WANTED]
    reached = from_minus_one(elites["measures"], TASK.spec).tolist()
    assert len(wanted) == 6
    assert all(row in reached for row in wanted[:3].tolist())  # one climbs, two are the conditioned actor
    assert np.isnan(wanted[3:]).all()  # iso+line offspring


def test_the_replay_memory_knows_what_was_reached_and_what_was_wanted(played):
    algorithm, _, before, generation, rollouts = played
    reached = from_minus_one(rollouts.behaviours, TASK.spec)
    start, wanted = before, generation.extra_fields[WANTED]
    for n, length in enumerate(rollouts.lengths):
        rows = algorithm.replay.rows[start : start + length]
        np.testing.assert_array_equal(rows[:, 2:4], np.tile(reached[n], (length, 1)))
        goal = reached[n] if n >= len(wanted) or np.isnan(wanted[n]).any() else wanted[n]
        np.testing.assert_array_equal(rows[:, 4:6], np.tile(goal, (length, 1)))
        start += length + 1
    assert len(rollouts.lengths) == 7  # the exploration episode is stored too


def test_elites_remember_what_they_reached(played):
    algorithm, *_ = played
    data = algorithm.elites.data()
    np.testing.assert_allclose(data[WANTED], from_minus_one(data["measures"], TASK.spec), atol=1e-6)


def test_the_actor_does_different_things_for_different_wishes(played):
    algorithm, *_ = played
    injection = algorithm.emitters[1]
    context = algorithm.context("quality", algorithm.transitions(), lambda: False)
    policies = injection.emit(np.array([[-1.0, -1.0], [1.0, 1.0]], np.float32), context).policies
    first, second = flatten_population(policies)
    width = TASK.spec.observation_size * 32
    np.testing.assert_array_equal(first[:width], second[:width])  # the wish is in the biases alone
    assert (first != second).any()


def test_settings_that_do_not_fit_are_refused():
    for settings, words in (({"population": 4, "injected": 2}, "enlarge it"), ({"scaled": True}, "scaled=learned")):
        with pytest.raises(UserError, match=words):
            make_algorithm("dcrl-me", TASK.spec, small_config("dcrl-me", **settings), 0)
