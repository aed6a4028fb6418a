"""Separable CMA-ES with its state outside: it does what pyribs' object does, and can be taken up anywhere."""

import numpy as np
import pytest
from ribs.emitters.opt import SeparableCMAEvolutionStrategy

from qdpg.learn.sep_cma import sample, start_strategy, update

SIZE, NUMBER = 30, 12
SCALES = np.linspace(1.0, 3.0, SIZE).astype(np.float32)


def value(vectors):
    return -np.square(SCALES * (vectors - 1.0)).sum(axis=1)


def test_it_does_what_pyribs_does():
    plain = SeparableCMAEvolutionStrategy(0.5, SIZE, NUMBER, 0, np.float32)
    plain.reset(np.zeros(SIZE))
    # pyribs begins with float32, and goes on with float64.
    plain.mean, plain.pc, plain.ps, plain.cov.cov = np.zeros(SIZE), np.zeros(SIZE), np.zeros(SIZE), np.ones(SIZE)
    strategy = start_strategy(np.zeros(SIZE, np.float32), 0.5)
    for seed in range(5):
        plain._rng = np.random.default_rng(seed)  # ours is given a seed every time
        expected, found = plain.ask(), sample(strategy, NUMBER, seed)
        np.testing.assert_array_equal(found, expected)
        values = value(found)
        order = np.argsort(-values, kind="stable")
        plain.tell(order, values, NUMBER // 2)
        strategy, has_ended = update(strategy, seed, values)
        assert not has_ended
    np.testing.assert_array_equal(strategy.mean, plain.mean)
    np.testing.assert_array_equal(strategy.variances, plain.cov.cov)
    assert (strategy.sigma, strategy.samples, plain.current_eval) == (plain.sigma, 5 * NUMBER, 5 * NUMBER)


def test_it_climbs():
    strategy = start_strategy(np.zeros(SIZE, np.float32), 0.3)
    before = value(strategy.mean[None])[0]
    for seed in range(150):
        strategy, _ = update(strategy, seed, value(sample(strategy, NUMBER, seed)))
    assert value(strategy.mean[None])[0] > 0.05 * before
    assert np.corrcoef(SCALES, strategy.variances)[0, 1] < -0.3  # what counts more varies less


def test_sampling_and_updating_leave_the_state_as_it_was():
    strategy = start_strategy(np.zeros(SIZE, np.float32), 0.3)
    strategy, _ = update(strategy, 1, value(sample(strategy, NUMBER, 1)))
    held = [np.array(each) for each in strategy]
    update(strategy, 2, value(sample(strategy, NUMBER, 2)))
    for each, before in zip(strategy, held, strict=True):
        np.testing.assert_array_equal(each, before)


@pytest.mark.parametrize(("sigma", "values"), [(0.3, np.zeros(NUMBER)), (1e-12, np.arange(NUMBER, dtype=float))])
def test_it_ends_where_all_are_equally_good_or_alike(sigma, values):
    strategy = start_strategy(np.zeros(SIZE, np.float32), sigma)
    assert update(strategy, 0, values)[1]
