import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small import TASK, advance, small, small_config

from qdpg.algorithms.diayn import fold_skills
from qdpg.algorithms.registry import make_algorithm, make_config
from qdpg.errors import UserError
from qdpg.learn.discriminator import log_probabilities
from qdpg.learn.networks import apply_mlp, init_mlp
from qdpg.play.player import make_player
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze

pytestmark = [pytest.mark.xdist_group("baselines")]


def test_a_folded_skill_is_the_network_with_its_skill():
    actor = init_mlp(jax.random.key(0), (3 + 5, 16, 8, 4), output="gaussian")
    seen = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
    skills = np.array([4, 0, 2])
    folded = fold_skills(actor, skills, 3)
    assert folded.sizes == (3, 16, 8, 4)
    for row, skill in enumerate(skills):
        shown = np.concatenate([seen, np.tile(np.eye(5, dtype=np.float32)[skill], (10, 1))], axis=1)
        alone = jax.tree.map(lambda leaf, row=row: leaf[row], folded)
        np.testing.assert_allclose(apply_mlp(alone, seen), apply_mlp(actor, shown), atol=1e-6)


def test_skills_take_turns_and_are_written_beside_what_they_did():
    # Who acts does not depend on what was learned, so nothing is.
    settings = {"skills": 3, "skills_at_once": 2, "exploration_episodes": 2, "gradient_steps_ratio": 0.0}
    settings["start_steps"] = 0
    algorithm, player = small("diayn", **settings), make_player(TASK)
    turns = [[0, 1], [2, 0], [1, 2]]
    for turn in turns:
        generation = algorithm.ask()
        before = algorithm.replay.inserted
        assert len(generation.candidates) == 2
        assert len(generation.exploration) == 4
        rollouts = generation.play(player)
        told = algorithm.tell(generation, rollouts)
        assert told["episodes"]["skill"].tolist() == turn * 3
        rows = algorithm.replay.rows[before : algorithm.replay.inserted]
        expected = np.repeat(turn * 3, rollouts.lengths + 1)
        np.testing.assert_array_equal(rows[:, 2], expected)  # the third number of an observation in the memory
        np.testing.assert_array_equal(algorithm._state.extra.fitness[turn], rollouts.fitness[:2])


@pytest.mark.long
def test_one_skill_learns_from_entropy_alone():
    """With one skill the reward is zero, whatever the environment pays: its scale changes nothing."""
    player, states = make_player(TASK), []
    for scale in (1.0, 100.0):
        algorithm = small("diayn", skills=1, skills_at_once=1, reward_scale=scale)
        advance(algorithm, player, 6)
        states.append(algorithm._state)
    for a, b in zip(*map(jax.tree.leaves, states), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.long
def test_skills_become_distinguishable():
    """Four skills in an open box end in four places, by which a discriminator knows them."""
    task = PointMaze(goal=(-0.9, 0.9), horizon=40)
    config = small_config("diayn", skills_at_once=4)  # the sizes of the other tests, which are compiled already
    algorithm, player = make_algorithm("diayn", task.spec, config, 0), make_player(task)
    while algorithm.steps < 8000:
        advance(algorithm, player)
    learner = algorithm._state.learners[0]
    skills = np.repeat(np.arange(4), 10)
    ends = player.play(fold_skills(learner.agent.actor, skills, 2), np.arange(40)).behaviours
    guessed = np.asarray(log_probabilities(learner.discriminator, jnp.asarray(ends))).argmax(axis=1)
    assert (guessed == skills).mean() > 0.9
    means = np.stack([ends[skills == z].mean(axis=0) for z in range(4)])
    distances = np.linalg.norm(means[:, None] - means[None], axis=2)[~np.eye(4, dtype=bool)]
    within = max(ends[skills == z].std(axis=0).max() for z in range(4))
    assert distances.min() > 0.3
    assert distances.min() > 2 * within


@pytest.mark.parametrize("settings", [{"skills": 0}, {"skills_at_once": 5}, {"skills_at_once": 0}])
def test_bad_settings_are_a_sentence(settings):
    with pytest.raises(UserError, match="skill"):
        small("diayn", **settings)


def test_unknown_discriminator_input_is_a_sentence():
    with pytest.raises(UserError, match="discriminator_input"):
        make_config("diayn", "tuned", "point-maze", {"discriminator_input": "reward"})


def test_the_discriminator_may_see_observations_of_which_some_are_left_out():
    task = AntTrap(horizon=10)
    sizes = {"hidden": (8, 8), "batch_size": 8, "start_steps": 20, "replay_size": 2_000, "skills": 3}
    config = make_config("diayn", "tuned", "ant-trap", sizes | {"discriminator_input": "observation"})
    algorithm, player = make_algorithm("diayn", task.spec, config, 0), make_player(task)
    while algorithm.steps < 60:
        _, told = advance(algorithm, player)
    assert algorithm._state.learners[0].discriminator.network.sizes[0] == 29  # without what is always zero
    assert 0 <= told["discriminator_accuracy"] <= 1
