"""Warnings of what will make a task hard to learn."""

from dataclasses import replace

import numpy as np
import pytest

from qdpg.play.rollouts import make_rollouts
from qdpg.play.warn import find_warnings, warn_task
from qdpg.tasks import make_task

SPEC = make_task("point-maze", horizon=100).spec


def rollouts(descriptors, rewards=-1.0, length=100):
    """Two episodes whose first descriptor is `descriptors` [101], and whose second runs over its range."""
    both = np.stack([descriptors, np.linspace(-1, 1, 101)], axis=1).astype(np.float32)
    return make_rollouts(
        SPEC,
        seeds=np.arange(2),
        noise=0.0,
        lengths=np.full(2, length, np.int32),
        terminated=np.zeros(2, bool),
        rewards=np.full((2, 100), rewards, np.float32),
        descriptors=np.repeat(both[None], 2, axis=0),
        observations=None,
        actions=None,
    )


RUNS = np.linspace(-1, 1, 101)


@pytest.mark.parametrize(
    ("played", "spec", "words"),
    [
        (rollouts(np.zeros(101)), SPEC, "never changed"),
        (rollouts(0.01 * RUNS), SPEC, "only 0.99% of its range -1 to 1"),
        (rollouts(np.arange(101) % 2), SPEC, "take behaviour=mean"),
        (rollouts(RUNS, rewards=-1e5), SPEC, "rewards are of the size of 1e+05"),
        (rollouts(RUNS, rewards=0.0), SPEC, "no reward at all"),
        (rollouts(RUNS, length=1), SPEC, "ended within 1 of 100 steps"),
    ],
    ids=["constant", "narrow", "binary", "large", "nothing", "short"],
)
def test_each_is_said(played, spec, words):
    assert any(words in sentence for sentence in find_warnings(spec, played))


def test_nothing_is_said_of_what_is_as_it_should_be():
    assert list(find_warnings(SPEC, rollouts(RUNS))) == []
    mean = replace(SPEC, behaviour="mean")
    assert list(find_warnings(mean, rollouts(np.arange(101) % 2))) == []
    assert warn_task(make_task("point-maze")) == []
