import jax
import numpy as np
import pytest
from small import TASK, advance, all_episodes, small

from qdpg.algorithms.registry import make_config
from qdpg.errors import UserError
from qdpg.learn.networks import deterministic, flatten_population
from qdpg.play.player import make_player

pytestmark = [pytest.mark.xdist_group("baselines")]


def test_exploration_episodes_are_the_policy_with_its_own_draws():
    algorithm, player = small("sac", exploration_episodes=2), make_player(TASK)
    first = algorithm.ask()
    rollouts = first.play(player)
    assert first.candidates.policies.output == "gaussian"
    random_actions = rollouts.actions[1:]
    assert random_actions.std() == pytest.approx(3**-0.5, abs=0.05)  # as wide as uniform ones
    assert np.abs(random_actions.mean()) < 0.1
    while algorithm.steps < 400:
        advance(algorithm, player)
    later = algorithm.ask()
    assert all_episodes(later).sigma.tolist() == [0, 1, 1]
    vectors = flatten_population(all_episodes(later).policies)
    np.testing.assert_array_equal(vectors[1], vectors[0])


def test_what_is_handed_over_is_plain_and_replays_exactly():
    algorithm, player = small("sac"), make_player(TASK)
    generations = [advance(algorithm, player)[0] for _ in range(8)]
    data, elite = algorithm.elites.data(), algorithm.elites.policies(np.array([0]))
    assert elite.output == "tanh"
    assert elite.biases[-1].shape == (1, 2)
    assert player.play(elite, data["seed"]).fitness == data["objective"]
    policy = deterministic(generations[data["generation"][0]].candidates.policies)
    np.testing.assert_array_equal(flatten_population(policy), data["solution"])


def test_same_seed_twice_and_another_seed():
    player = make_player(TASK)
    same, again, other = small("sac", seed=1), small("sac", seed=1), small("sac", seed=2)
    for algorithm in (same, again, other):
        advance(algorithm, player, 6)
    for a, b in zip(*(jax.tree.leaves(x._state) for x in (same, again)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(same.ask().candidates.policies.weights[0], other.ask().candidates.policies.weights[0])


def test_temperature_falls_while_there_is_more_chance_than_wanted():
    algorithm, player = small("sac"), make_player(TASK)
    told = advance(algorithm, player, 8)[1]
    assert 0.01 < told["temperature"] < 0.049  # from 0.05, by some hundred small steps


@pytest.mark.parametrize("settings", [{"start_temperature": 0.0}, {"exploration_episodes": 0}])
def test_bad_settings_are_a_sentence(settings):
    with pytest.raises(UserError, match="sac"):
        small("sac", **settings)


def test_settings_of_td3_alone_are_unknown():
    with pytest.raises(UserError, match="target_noise"):
        make_config("sac", "tuned", "point-maze", {"target_noise": 0.1})
