import jax
import numpy as np
import pytest
from small import TASK, advance, small

from qdpg.errors import UserError
from qdpg.learn.cem import sample
from qdpg.learn.networks import flatten_population
from qdpg.play.player import make_player

pytestmark = [pytest.mark.xdist_group("baselines")]


def test_the_first_climb_and_the_others_are_as_drawn():
    algorithm, player = small("cem-rl"), make_player(TASK)
    advance(algorithm, player, 2)
    assert algorithm.steps > 500
    generation = algorithm.ask()
    drawn = sample(algorithm._state.distribution, np.random.default_rng([0, 2]), 6).astype(np.float32)
    vectors = flatten_population(generation.candidates.policies)
    np.testing.assert_array_equal(vectors[2:], drawn[2:])
    assert (np.abs(vectors[:2] - drawn[:2]).max(axis=1) > 1e-3).all()
    critics = [x.online[0].weights[0] for x in (algorithm._state.critics, generation.learned)]
    assert np.abs(np.asarray(critics[0]) - np.asarray(critics[1])).max() > 1e-4


def test_before_the_start_nobody_climbs():
    algorithm = small("cem-rl", start_steps=10_000)
    advance(algorithm, make_player(TASK), 2)
    before = algorithm._state.critics
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(algorithm.ask().learned), strict=True):
        np.testing.assert_array_equal(a, b)


def test_actions_are_not_cut_to_whole_numbers():
    """A known bug elsewhere: point-maze's largest action, 0.1, cast to an integer leaves the point motionless."""
    player = make_player(TASK)
    generation = small("cem-rl").ask()
    rollouts = generation.play(player)
    assert (np.abs(rollouts.descriptors[:, 1] - rollouts.descriptors[:, 0]).max(axis=1) > 1e-4).all()


@pytest.mark.parametrize("settings", [{"population": 5}, {"climbers": 7}])
def test_a_population_that_does_not_fit_is_refused(settings):
    with pytest.raises(UserError, match="even population"):
        small("cem-rl", **settings)
