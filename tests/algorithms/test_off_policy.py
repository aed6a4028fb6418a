"""What all algorithms that train from a replay memory alone have in common."""

import numpy as np
import pytest
from small import advance, small

from qdpg.algorithms.registry import make_algorithm, make_config
from qdpg.errors import UserError
from qdpg.learn.backprop import forward
from qdpg.learn.networks import flatten_population
from qdpg.learn.transitions import REWARD
from qdpg.play.player import make_player
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze

TASK = PointMaze(horizon=40)
PLAYER = make_player(TASK)


@pytest.mark.parametrize("name", ["td3", "diayn"])
def test_the_start_is_random_but_for_one_judged_episode(name):
    algorithm = small(name, start_steps=300)
    judged, sizes = [], []
    while algorithm.steps < 300:
        generation = algorithm.ask()
        judged.append(len(generation.candidates))
        sizes.append(len(generation.candidates) + len(generation.exploration))
        assert not flatten_population(generation.exploration.policies).any()  # nothing but noise acts
        assert (generation.exploration.sigma > 0.4).all()
        algorithm.tell(generation, generation.play(PLAYER))
    assert judged[0] > 0
    assert not any(judged[1:])
    assert len(set(sizes)) == 1
    assert len(algorithm.elites) > 0


def test_critics_see_rewards_less_an_offset_and_fitness_is_what_it_was():
    plain, less = (small("td3", seed=2, reward_offset=offset, start_steps=10**6) for offset in (0.0, 0.5))
    for algorithm in (plain, less):
        advance(algorithm, PLAYER, 2)
    first, second = (algorithm.replay.since(0) for algorithm in (plain, less))
    played = first["is_playable"]
    np.testing.assert_allclose(first["rows"][played, -3] - 0.5, second["rows"][played, -3], atol=1e-6)
    assert plain.elites.best_fitness == less.elites.best_fitness


def test_critics_may_learn_from_what_a_step_gains():
    plain, shaped = (small("td3", seed=2, shaped=shaped, start_steps=10**6) for shaped in (False, True))
    for algorithm in (plain, shaped):
        advance(algorithm, PLAYER, 2)
    first, second = (algorithm.replay.since(0) for algorithm in (plain, shaped))
    follows = first["is_playable"][:-1] & first["is_playable"][1:]
    before, after = first["rows"][:-1, REWARD][follows], first["rows"][1:, REWARD][follows]
    gained = 0.99 * after - before + 0.01 * after  # the reward is that of the state reached, and its own potential
    np.testing.assert_allclose(second["rows"][1:, REWARD][follows], gained, atol=1e-5)
    assert plain.elites.best_fitness == shaped.elites.best_fitness


@pytest.mark.parametrize("name", ["td3", "sac"])
@pytest.mark.parametrize("scaled", [True, "learned"])
def test_policies_that_play_are_those_that_learn(name, scaled):
    """A scaled observation in the network that learns gives what the plain one gives in the network that plays."""
    task = AntTrap(horizon=10)
    config = make_config(name, "tuned", "ant-trap", {"scaled": scaled, "hidden": (8, 8), "start_steps": 10**6})
    algorithm = make_algorithm(name, task.spec, config, 0)
    advance(algorithm, make_player(task), 2)
    algorithm.ask()
    networks, learning = algorithm.networks, algorithm._policy(algorithm._state.learners[0])
    playing = networks.for_play(learning)
    seen = 29 if scaled is True else 113  # contact forces are left out where the task says that they are zeros
    assert learning.sizes[0] == seen
    assert playing.sizes[0] == 113
    observations = np.random.default_rng(0).normal(size=(20, 113)).astype(np.float32) * [[*([1.0] * 29), *([0.0] * 84)]]
    first = [np.asarray(leaf)[0] for leaf in (learning.weights[0], learning.biases[0])]
    second = [np.asarray(leaf)[0] for leaf in (playing.weights[0], playing.biases[0])]
    np.testing.assert_allclose(
        networks.see(observations) @ first[0] + first[1], observations @ second[0] + second[1], rtol=1e-4, atol=1e-4
    )


def test_scaling_by_a_task_that_does_not_say_how_is_refused():
    config = make_config("td3", "tuned", "point-maze", {"scaled": True})
    with pytest.raises(UserError, match="declares no observation_scale"):
        make_algorithm("td3", TASK.spec, config, 0)


@pytest.mark.parametrize("name", ["td3", "rnd", "p3s-td3"])
def test_policies_may_end_in_a_linear_layer(name):
    """What is played, judged and stored is then clipped, and the bound of the last layer is that of the settings."""
    algorithm = small(name, output="linear", action_bound=0.3, gradient_steps_ratio=0.5, actor_rate=1e-2)
    while algorithm.steps < 1_500:
        advance(algorithm, PLAYER)
    policies = algorithm.ask().candidates.policies
    assert (policies.output, algorithm.elites.policies([0]).output) == ("linear", "linear")
    states = algorithm.replay.rows[:400, :2]
    actions = np.abs(forward(policies, states).output)
    assert 0.1 < actions.max() < 0.6  # it may come a little beyond the bound, with a tanh it goes to 1
    again = small(name, output="linear", action_bound=0.3, gradient_steps_ratio=0.5, actor_rate=1e-2)
    again.load(algorithm.state())
    assert again.elites.best_fitness == algorithm.elites.best_fitness
