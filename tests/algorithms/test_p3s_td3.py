import itertools

import jax
import numpy as np
import pytest
from small import TASK, advance, small

from qdpg.algorithms.p3s_td3 import adapt_beta, policy_distance
from qdpg.learn.networks import init_population
from qdpg.play.player import make_player

pytestmark = [pytest.mark.xdist_group("baselines")]


def test_sequence_of_beta():
    distances = [(0.2, 0.02), (0.2, 0.02), (0.01, 0.02), (0.04, 0.02)]
    betas = itertools.accumulate(distances, lambda beta, d: adapt_beta(beta, *d, rho=2.0, least=0.02), initial=1.0)
    assert list(betas) == [1, 2, 4, 2, 2]


def test_beta_stays_within_bounds():
    assert adapt_beta(1e3, 1.0, 0.01, 2.0, 0.02) == 1e3
    assert adapt_beta(1e-3, 0.0, 1.0, 2.0, 0.02) == 1e-3
    assert adapt_beta(1.0, 0.0101, 0.0, 2.0, 0.02) == 0.5  # the least distance holds when nothing changes


def test_distance_is_half_the_mean_square():
    a, b = (init_population(jax.random.key(k), 1, (2, 4, 2)) for k in (0, 1))
    states = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)

    def act(network):
        hidden = np.maximum(states @ network.weights[0][0] + network.biases[0][0], 0)
        return np.tanh(hidden @ network.weights[1][0] + network.biases[1][0])

    assert float(policy_distance(a, b, states)) == pytest.approx(0.5 * ((act(a) - act(b)) ** 2).mean(), rel=1e-5)


def test_alone_it_is_td3():
    settings = {"learners": 1, "start_beta": 0.0, "gradient_steps_ratio": 1.0}
    player, plain, alone = make_player(TASK), small("td3"), small("p3s-td3", **settings)
    for algorithm in (plain, alone):
        advance(algorithm, player, 8)
    for a, b in zip(*(jax.tree.leaves(x._state.learners) for x in (plain, alone)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_others_are_drawn_to_the_best_and_the_best_is_not():
    player, free, drawn = make_player(TASK), *(small("p3s-td3", start_beta=beta) for beta in (0.0, 100.0))
    for algorithm in (free, drawn):
        while algorithm._state.steps < 400:
            advance(algorithm, player)
    guide = drawn._state.extra
    (best, other), states = (guide.best, 1 - guide.best), free.replay.rows[:500, :2]
    (at_will, _), (guided, distances) = free.ask().learned, drawn.ask().learned
    for a, b in zip(jax.tree.leaves(at_will[best]), jax.tree.leaves(guided[best]), strict=True):
        np.testing.assert_array_equal(a, b)
    far, near = (float(policy_distance(x[other].actors.online, guide.policy, states)) for x in (at_will, guided))
    assert near < 0.5 * far
    assert distances[other].change > 0


def test_the_best_is_who_earned_most_lately():
    algorithm, player = small("p3s-td3"), make_player(TASK)
    returns = []
    for _ in range(6):
        generation = algorithm.ask()
        rollouts = generation.play(player)
        own = rollouts.returns.reshape(-1, 2)
        judged = len(generation.candidates) // 2  # of each: none at the start, but for the first
        returns.append(own if generation.learned[1] is not None else own[:judged])
        algorithm.tell(generation, rollouts)
        expected = np.concatenate(returns)[-10:].mean(axis=0).argmax()
        guide = algorithm._state.extra
        assert guide.best == expected
        if judged:
            np.testing.assert_array_equal(
                guide.policy.weights[0], generation.candidates.policies.weights[0][expected][None]
            )
