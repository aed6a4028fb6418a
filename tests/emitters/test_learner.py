import jax
import numpy as np
import pytest
from small_emitters import NETWORKS, SETTINGS, assert_same, differ, make_context, make_elites

from qdpg.emitters.learner import Networks, climb_frozen, draw_rates, train_greedy
from qdpg.emitters.objective import GradientObjective
from qdpg.emitters.policy_gradient import PolicyGradient
from qdpg.learn.networks import apply_mlp, flatten_population
from qdpg.learn.td3 import init_actors
from qdpg.learn.transitions import REWARD, UniformMinibatches, scale_observations
from qdpg.memory.replay import Replay
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze


def emitter(greedy_steps=3):
    return PolicyGradient("quality", GradientObjective(), (1.0, 0.0), 3, NETWORKS, SETTINGS, greedy_steps=greedy_steps)


def test_critics_and_greedy_actor_see_further_inputs_behind_the_observation():
    learner = NETWORKS.init_learner(jax.random.key(0), SETTINGS, with_greedy=True, further_inputs=2)
    assert learner.critics.online[0].sizes == (2 + 2 + 2, 16, 16, 1)
    assert learner.greedy.online.sizes == (2 + 2, 16, 16, 2)
    plain = NETWORKS.init_learner(jax.random.key(0), SETTINGS, with_greedy=False)
    assert plain.greedy is None
    assert plain.critics.online[0].sizes == (2 + 2, 16, 16, 1)
    assert differ(plain.critics.online[0], plain.critics.online[1])  # twins are not alike
    assert_same(plain.critics.online, plain.critics.target)


def test_a_policy_does_the_same_with_scaled_observations_as_it_does_with_real_ones():
    networks = Networks(AntTrap().spec, (8,), "linear", scaled=True)
    elites = make_elites(3, networks=networks, cells=(1, 1))
    (policy,) = (elites.policies(np.array([0])),)
    learns, scale = networks.for_learning(policy), networks.scale
    assert len(scale) == 29
    assert learns.sizes == (29, 8, 8)
    seen = np.random.default_rng(0).normal(size=(5, 113)).astype(np.float32)
    seen[:, 29:] = 0  # as they always are
    alone, scaled = (jax.tree.map(lambda leaf: leaf[0], each) for each in (policy, learns))
    np.testing.assert_allclose(apply_mlp(alone, seen), apply_mlp(scaled, seen[:, :29] / scale), rtol=1e-5, atol=1e-5)
    back = networks.for_play(learns)
    assert back.sizes == policy.sizes
    np.testing.assert_array_equal(back.weights[0][:, :29], policy.weights[0][:, :29])


def test_without_a_scale_nothing_changes():
    policies = make_elites(3).policies(np.array([0]))
    assert_same(NETWORKS.for_play(NETWORKS.for_learning(policies)), policies)
    assert NETWORKS.scaling is None


def test_learning_rates_are_spread_below_the_largest_one():
    rng = np.random.default_rng(0)
    assert draw_rates(GradientObjective(), 0.01, 3, rng).tolist() == [0.01] * 3
    drawn = np.log10(draw_rates(GradientObjective(rate_range=2.0), 0.01, 4000, rng))
    np.testing.assert_allclose(np.quantile(drawn, [0, 0.25, 0.5, 0.75, 1]), [-4, -3.5, -3, -2.5, -2], atol=0.05)


def test_a_greedy_actor_and_its_critics_learn_together():
    context = make_context(emitter())
    minibatches = UniformMinibatches(context.transitions, np.array([1.0, 0.0], np.float32))
    trained = train_greedy(context.learner, minibatches, context, SETTINGS)
    assert differ(trained.greedy.online, context.learner.greedy.online)
    for new, old in zip(trained.critics.online, context.learner.critics.online, strict=True):
        assert differ(new, old)


def test_critics_that_are_climbed_stand_still():
    context = make_context(emitter())
    policies = make_elites().policies(np.arange(2))
    before = jax.tree.map(np.array, context.learner.critics)
    minibatches = UniformMinibatches(context.transitions, np.array([1.0, 0.0], np.float32))
    actors = climb_frozen(init_actors(policies, SETTINGS), context.learner.critics, minibatches, context, 3, SETTINGS)
    assert_same(before, context.learner.critics)
    moved = flatten_population(actors.online) - flatten_population(policies)
    assert (np.abs(moved).max(axis=1) > 0).all()


@pytest.mark.parametrize("steps", [0, 3])
def test_only_an_objective_with_greedy_steps_has_a_greedy_actor(steps):
    assert (emitter(steps).init(jax.random.key(0)).greedy is None) == (steps == 0)


def filled_replay(networks, rewards=(1.0, 3.0)):
    """A replay memory of two states on point-maze, with these rewards."""
    replay = Replay(10, 2, 2, 2)
    rows = np.zeros((3, 7), np.float32)
    rows[:, :2] = [[1.0, -4.0], [3.0, 4.0], [9.0, 9.0]]
    rows[:2, REWARD] = rewards
    replay.insert_rows(rows, np.zeros((3, 2), np.float32), np.array([True, True, False]))
    replay.index()
    networks.look(replay, np.array([0.3, -0.4]))
    return replay


def test_what_is_in_the_replay_memory_says_how_networks_see():
    networks = Networks(PointMaze().spec, (8,), scaled="learned")
    assert networks.middle.tolist() == [0.0, 0.0]
    assert networks.scale.tolist() == [1.0, 1.0]
    filled_replay(networks)
    assert networks.middle.tolist() == [2.0, 0.0]  # of the states that have a successor
    assert networks.scale.tolist() == [1.0, 4.0]
    policy = make_elites(3, networks=Networks(PointMaze().spec, (8,)), cells=(1, 1)).policies(np.array([0]))
    seen = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    learns = networks.for_learning(policy)
    alone, scaled, again = (
        jax.tree.map(lambda leaf: leaf[0], each) for each in (policy, learns, networks.for_play(learns))
    )
    as_seen = scale_observations(seen, networks.scaling)
    np.testing.assert_allclose(as_seen, (seen - networks.middle) / networks.scale, rtol=1e-6)
    np.testing.assert_allclose(apply_mlp(alone, seen), apply_mlp(scaled, as_seen), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(apply_mlp(alone, seen), apply_mlp(again, seen), rtol=1e-5, atol=1e-6)


def test_rewards_are_divided_by_their_typical_size():
    networks = Networks(PointMaze().spec, (8,), scaled="learned")
    filled_replay(networks)
    np.testing.assert_allclose(networks.units, [5**0.5, (0.25 / 2) ** 0.5])
    objective = GradientObjective(discount=0.9, reward_scale=2.0)
    np.testing.assert_allclose(networks.weights(objective, (1.0, 0.0)), [2.0 / 5**0.5, 0.0], rtol=1e-6)
    filled_replay(networks, rewards=(0.0, 0.0))
    assert networks.units[0] == 1.0  # nothing to divide by
    plain = Networks(PointMaze().spec, (8,))
    filled_replay(plain)
    assert plain.weights(objective, (1.0, 0.5)).tolist() == [2.0, 1.0]
