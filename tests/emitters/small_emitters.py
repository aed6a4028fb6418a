"""A small archive and a replay memory, both made up, for emitters to work with. Sizes are those of the small QD-PG."""

import jax
import numpy as np

from qdpg.algorithms.pieces import generation_key
from qdpg.emitters.emitter import Context
from qdpg.emitters.learner import Networks
from qdpg.learn.networks import init_mlp, init_population
from qdpg.learn.td3 import TD3Settings
from qdpg.memory.elites import Elites
from qdpg.memory.replay import Replay
from qdpg.tasks.point_maze import PointMaze
from stage import made_up_rollouts

SPEC = PointMaze(horizon=50).spec
NETWORKS = Networks(SPEC, (16, 16))
SETTINGS = TD3Settings(batch_size=32, optimiser="sgd", actor_rate=0.05, critic_rate=0.05, softness=0.05)
STEPS = 6


def make_elites(offered=15, extra_fields=None, networks=NETWORKS, cells=(5, 5), **changes):
    """An archive that so many random policies were offered to; `extra_fields` are [offered, size] by name."""
    fields = extra_fields or {}
    sizes = (networks.spec.observation_size, *networks.policy_sizes[1:])
    template = init_mlp(jax.random.key(0), sizes, output=networks.output)
    elites = Elites(networks.spec, template, cells, extra_fields={name: x.shape[1] for name, x in fields.items()})
    policies = init_population(jax.random.key(7), offered, sizes, output=networks.output)
    elites.add(policies, made_up_rollouts(networks.spec, offered, **changes), 0, **fields)
    return elites


def make_transitions():
    """A memory of made-up transitions, whose novelty and its gradients are made up too."""
    replay, rng = Replay(5000, 2, 2, 2), np.random.default_rng(5)
    replay.insert(made_up_rollouts(SPEC, 20, seed=3))
    slots = replay.playable_slots()
    replay.set_novelty(slots, rng.uniform(size=len(slots)))
    replay.set_novelty_gradients(slots, rng.normal(size=(len(slots), 2)))
    return replay.view()


def make_context(emitter, steps=STEPS, learner=None):
    """What an algorithm would hand to this emitter."""
    key = generation_key(3, 1)
    learner = emitter.init(key) if learner is None else learner
    return Context(learner, make_transitions(), key, steps, lambda: False)


def assert_same(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def differ(a, b):
    """Whether any number of two trees of the same shape differs."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return any(not np.array_equal(x, y) for x, y in pairs)
