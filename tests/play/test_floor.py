"""What a QD score counts from where nobody said it."""

import jax
import numpy as np

from qdpg.learn.networks import init_mlp
from qdpg.memory.elites import Elites
from qdpg.play.floor import estimate_floor, with_floor
from qdpg.play.rollouts import make_rollouts
from qdpg.tasks import make_task

PENDULUM = {"descriptor": (0, 1), "low": (-1, -1), "high": (1, 1), "horizon": 50}


def test_the_floor_lies_below_random_play_and_is_always_the_same():
    task = make_task("gym:Pendulum-v1", **PENDULUM)
    floor = estimate_floor(task)
    assert floor == estimate_floor(task)
    assert -1000 < floor < -100  # fifty steps cost at most 16.3 each


def test_a_floor_is_written_down_only_where_nobody_gave_one():
    task, options = with_floor(make_task("gym:Pendulum-v1", **PENDULUM), PENDULUM)
    assert task.spec.fitness_floor == options["fitness_floor"] < 0
    given = PENDULUM | {"fitness_floor": -5.0}
    assert with_floor(make_task("gym:Pendulum-v1", **given), given)[1] == given
    assert with_floor(make_task("point-maze"), {})[1] == {}


def test_an_elite_below_the_floor_does_not_lower_the_score():
    spec = make_task("gym:Pendulum-v1", **PENDULUM, fitness_floor=-10.0).spec
    policy = init_mlp(jax.random.key(0), (3, 4, 1))
    elites, scores = Elites(spec, policy, (4, 4)), []
    for place, reward in ((-0.9, 0.0), (0.9, -1.0)):  # returns 0 and -50
        descriptors = np.full((1, 51, 2), place, np.float32)
        rollouts = make_rollouts(
            spec,
            seeds=np.zeros(1, np.int64),
            noise=0.0,
            lengths=np.array([50], np.int32),
            terminated=np.zeros(1, bool),
            rewards=np.full((1, 50), reward, np.float32),
            descriptors=descriptors,
            observations=None,
            actions=None,
        )
        elites.add(jax.tree.map(lambda leaf: leaf[None], policy), rollouts, 0)
        scores.append(elites.qd_score)
    assert scores == [10.0, 10.0]
