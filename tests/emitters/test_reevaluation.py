"""The re-evaluation emitter, and what an archive algorithm makes of it."""

import jax
import numpy as np
import pytest

from qdpg.algorithms.registry import make_algorithm, make_config
from qdpg.emitters.reevaluation import Reevaluation
from qdpg.errors import UserError
from qdpg.learn.networks import flatten_population
from qdpg.memory.reevaluated import NEW, ArchiveSettings, ReevaluatedElites
from qdpg.play.player import make_player
from qdpg.tasks.point_maze import PointMaze

TASK = PointMaze(horizon=30)
SMALL = {"population": 6, "initial_policies": 12, "hidden": (8,)}


def algorithm(name="map-elites", **settings):
    return make_algorithm(name, TASK.spec, make_config(name, "tuned", "point-maze", SMALL | settings), seed=2)


def advance(algorithm, generations):
    player = make_player(TASK)
    for _ in range(generations):
        generation = algorithm.ask()
        rollouts = generation.play(player)
        algorithm.tell(generation, rollouts)
    return generation, rollouts


def test_what_is_played_again_is_what_is_in_the_archive():
    trained = algorithm(**{"archive.reevaluations": 0.5})
    advance(trained, 3)
    held = trained.elites.state()
    generation = trained.ask()
    assert generation.entries is not None
    again = generation.entries != NEW
    assert again.sum() == 3
    assert generation.entries[~again].tolist() == [NEW] * 6
    played = flatten_population(jax.tree.map(lambda leaf: leaf[again], generation.candidates.policies))
    np.testing.assert_array_equal(played, held["solution"][generation.entries[again]])
    fresh = set(generation.candidates.seeds[again].tolist())
    assert not fresh & set(held["trial_seeds"][held["trial_seeds"] > 0].tolist()), "from starts that they did not have"


def test_there_may_be_more_of_it_the_more_offspring_were_played():
    trained = algorithm(**{"archive.reevaluations": 1.0, "archive.full_after": 2.0, "cells": (3, 4)})
    played = []
    for _ in range(6):
        generation, _ = advance(trained, 1)
        played.append(0 if generation.entries is None else int((generation.entries != NEW).sum()))
    # Full after two offspring for each of twelve cells, of which there are six a generation.
    assert played[1:5] == [round(6 * share) for share in (0.25, 0.5, 0.75, 1.0)]
    assert played[5] <= 6


def test_nobody_is_chosen_who_has_played_enough():
    trained = algorithm(**{"archive.reevaluations": 0.5, "archive.most_episodes": 1})
    advance(trained, 2)
    assert Reevaluation(5, ArchiveSettings(1.0)).select(trained.elites, np.random.default_rng(0)) is None
    assert trained.ask().entries.tolist() == [NEW] * 6


def test_without_it_the_archive_is_the_plain_one():
    plain = algorithm()
    generation, _ = advance(plain, 2)
    assert generation.entries is None
    assert not isinstance(plain.elites, ReevaluatedElites)


def test_a_share_that_is_no_episode_is_refused():
    with pytest.raises(UserError, match=r"archive\.reevaluations=0\.01 of a population of 6 is no episode"):
        algorithm(**{"archive.reevaluations": 0.01})


@pytest.mark.parametrize("name", ["map-elites", "cvt-map-elites", "pga-me", "dcrl-me", "qd-pg", "q-pg", "dc-qd-pg"])
def test_what_would_do_nothing_is_refused(name):
    with pytest.raises(UserError, match=r"would do nothing, since archive\.reevaluations is 0"):
        make_config(name, "tuned", "point-maze", {"archive.reevaluations": 0, "archive.depth": 5})
    assert (
        make_config(name, "tuned", "point-maze", {"archive.depth": 5, "archive.reevaluations": 1.0}).archive.depth == 5
    )
