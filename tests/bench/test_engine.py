"""The yardsticks of the engine must measure what they say."""

import jax
import numpy as np
import pytest

from qdpg.bench.engine import WORKLOADS, Workload, count_operations, measure_workload
from qdpg.bench.plain_jax import make_plain_jax


def test_operations_are_those_of_the_update():
    """By hand for one hidden layer: 3 observations, 1 action, 4 units, one agent, one sample."""
    actor, critic, above = 3 * 4 + 4 * 1, 4 * 4 + 4 * 1, 4 * 1
    target = actor + 2 * critic
    critic_step = 2 * (critic + critic + above)  # forward, weights, hidden layer
    actor_step = actor + critic + (above + 1 * 4) + actor + 4 * 1
    expected = 2 * (target + critic_step + actor_step / 2)
    assert count_operations(Workload(1, 3, 1, (4,), batch_size=1)) == expected
    assert count_operations(WORKLOADS["ant29"]) == pytest.approx(4.3e9, rel=0.02)


@pytest.mark.long
def test_all_contestants_run_and_are_compared():
    result = measure_workload(Workload(2, 3, 1, (8, 8), batch_size=16, rows=2010, steps=3), turns=1)
    assert {"agent_steps_per_s", "ratio_to_plain_jax", "fraction_of_matmul"} <= set(result)
    assert all(np.isfinite(value) and value > 0 for value in result.values())


def test_the_plain_peer_learns():
    """It is the same update: with a constant reward of one and no future, its critics come to say one."""
    run, state = make_plain_jax(2, (3, 1), (16, 16), batch_size=64)
    rng = np.random.default_rng(0)
    states, actions = rng.normal(size=(500, 3)), rng.uniform(-1, 1, (500, 1))
    transitions = tuple(np.float32(x) for x in (states, actions, np.ones(500), np.zeros(500), states))
    critics = run(state, transitions, jax.random.key(0), steps=1500)[3]
    pairs = np.concatenate([transitions[0], transitions[1]], axis=1)
    hidden = pairs
    for weight, bias in zip(critics.weights[:-1], critics.biases[:-1], strict=True):
        hidden = np.maximum(hidden @ np.asarray(weight[0]) + np.asarray(bias[0]), 0)
    values = hidden @ np.asarray(critics.weights[-1][0]) + np.asarray(critics.biases[-1][0])
    assert np.abs(values - 1).mean() < 0.1
