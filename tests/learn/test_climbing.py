"""Steps in pieces are the same steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qdpg.learn.climbing import Stopped, climb, in_chunks
from qdpg.learn.networks import init_population
from qdpg.learn.td3 import TD3Settings, improve, init_actors, init_critics
from qdpg.learn.transitions import UniformMinibatches

KEY = jax.random.key(3, impl="rbg")
SETTINGS = TD3Settings(batch_size=32)


@pytest.fixture(scope="module")
def learner(replay):
    actors = init_actors(init_population(jax.random.key(1), 2, (2, 16, 8, 2)), SETTINGS)
    critics = init_critics(jax.random.key(2), (4, 16, 8, 1), SETTINGS)
    return actors, critics, UniformMinibatches(replay.view(), jnp.array([1.0, 0.0])), KEY


def never():
    return False


def take(learner, first, number):
    """Remember what was asked for."""
    return [*learner, (first, number)]


@pytest.mark.parametrize(
    ("steps", "chunks"), [(0, []), (3, [(0, 3)]), (8, [(0, 4), (4, 4)]), (9, [(0, 4), (4, 4), (8, 1)])]
)
def test_chunks_are_all_steps_in_order(steps, chunks):
    watched = []
    assert in_chunks(take, [], steps, 4, never, watched.append) == chunks
    assert watched == [chunks[: i + 1] for i in range(len(chunks))]


def test_stopping_is_looked_for_after_every_chunk():
    watched = []
    with pytest.raises(Stopped):
        in_chunks(take, [], 100, 4, lambda: len(watched) == 3, watched.append)
    assert watched[-1] == [(0, 4), (4, 4), (8, 4)]


@pytest.mark.parametrize("options", [{}, {"train_critics": False}])
def test_climbing_in_chunks_is_climbing(learner, options):
    watched = []
    whole = improve(*learner, 0, 21, settings=SETTINGS, **options)
    parts = climb(*learner, 21, never, settings=SETTINGS, chunk=4, watch=watched.append, **options)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(watched) == 3  # after 8, 16 and 21 steps
    np.testing.assert_array_equal(watched[-1].online.weights[0], parts[0].online.weights[0])
    assert not np.array_equal(watched[0].online.weights[0], watched[1].online.weights[0])


def test_climbing_may_be_stopped(learner):
    with pytest.raises(Stopped):
        climb(*learner, 21, lambda: True, settings=SETTINGS, chunk=4)
