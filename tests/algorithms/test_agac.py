"""AGAC: PPO and an adversary, in the same loop as everything else."""

import jax
import numpy as np
import pytest
from small import TASK, advance, all_episodes, foresee

from qdpg.algorithms.registry import ALGORITHMS, config_from_json, config_to_json, make_algorithm, make_config
from qdpg.cli import plot, show, verify
from qdpg.errors import UserError
from qdpg.learn.gaussian import log_density
from qdpg.learn.ppo import draw_order, improve, make_experience, standardise
from qdpg.memory.elites import SAVED
from qdpg.play.acting import Noise, draw_noise
from qdpg.play.player import make_player
from qdpg.runs.checkpoint import Checkpoints
from qdpg.runs.records import Ties
from qdpg.runs.run import RunConfig, create_run, load_run
from qdpg.runs.train import Trainer
from qdpg.tasks.ant_trap import AntTrap

pytestmark = [pytest.mark.xdist_group("agac")]

SMALL = {
    "hidden": (32, 32),
    "adversary_hidden": (16,),
    "batch_size": 64,
    "epochs": 10,
    "episodes": 5,
    "action_scale": 1.0,
    "actor_rate": 1e-3,
    "critic_rate": 1e-3,
    "reward_scale": 0.1,
}
PLAYER = make_player(TASK)


def small(seed=0, **changes):
    return make_algorithm("agac", TASK.spec, make_config("agac", "paper", "point-maze", SMALL | changes), seed)


def assert_equal(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def play(generation, player=PLAYER):
    return generation.play(player)


@pytest.mark.long
def test_learns_an_open_way():
    algorithm = small(seed=1)
    while algorithm.steps < 8_000:
        advance(algorithm, PLAYER)
    data = algorithm.elites.data()
    best = algorithm.elites.policies(np.repeat(data["objective"].argmax(), 20))
    scores = PLAYER.play(best, np.arange(1000, 1020)).fitness
    assert scores.mean() > -10, "going straight and staying beside the goal costs about -8; standing still about -57"
    assert not data["noise"].any()  # judged without noise


@pytest.mark.parametrize("normalise", [False, True])
def test_without_bonus_it_is_ppo(normalise):
    """A plain loop of play and PPO, which knows of no adversary, gives the same networks bit for bit."""
    algorithm, plain = small(bonus=0.0, normalise=normalise), small(bonus=0.0, normalise=normalise)
    settings, learner, horizon = plain._ppo, plain._state.learner, TASK.horizon
    for number in range(4):
        generation = plain.ask()
        rollouts = play(generation).take(slice(1, None))
        mean, std = plain._state.observed.moments()
        padding = ((0, 0), (0, horizon - rollouts.rewards.shape[1]))
        experience = make_experience(
            learner,
            np.pad((rollouts.observations - mean) / std, (*padding, (0, 0))),
            draw_noise(rollouts.seeds, Noise(1.0), horizon, 2),
            np.pad(np.float32(0.1) * rollouts.rewards, padding),
            rollouts.lengths,
            rollouts.terminated,
            settings=settings,
        )
        rows = np.flatnonzero(np.arange(horizon) < rollouts.lengths[:, None])
        experience = experience._replace(advantages=standardise(np.asarray(experience.advantages), rows))
        order, steps = draw_order(np.random.default_rng([0, number, 1]), rows, 5 * horizon, settings)
        learner = improve(learner, experience, order, steps, settings=settings)
        seen = rollouts.observations[:, :-1][rollouts.played()]
        observed = plain._state.observed.add(seen) if normalise else plain._state.observed
        plain._state = plain._state._replace(generation=number + 1, learner=learner, observed=observed)
        advance(algorithm, PLAYER)
        assert_equal(algorithm._state.learner, learner)
    with_bonus = small(bonus=0.1, normalise=normalise)
    advance(with_bonus, PLAYER, 4)
    assert not np.array_equal(with_bonus._state.learner.policy.log_std, learner.policy.log_std)


@pytest.mark.parametrize("normalise", [False, True])
def test_what_is_played_is_what_is_learned_from(normalise):
    """The clipped actions of the experience are those of the episodes, and noise has the policy's own deviations."""
    algorithm = small(normalise=normalise, action_scale=2.5)
    advance(algorithm, PLAYER, 3)
    generation, learner = algorithm.ask(), algorithm._state.learner
    assert not generation.candidates.sigma.any()
    np.testing.assert_allclose(generation.exploration.sigma, np.tile(2.5 * np.exp(learner.policy.log_std), (5, 1)))
    assert generation.exploration.sigma[0, 0] != generation.exploration.sigma[0, 1]
    rollouts = play(generation).take(slice(1, None))
    mean, std = algorithm._state.observed.moments()
    assert (std != 1).all() == normalise
    draws = draw_noise(rollouts.seeds, Noise(1.0), TASK.horizon, 2)[:, : rollouts.rewards.shape[1]]
    experience = make_experience(
        learner,
        (rollouts.observations - mean) / std,
        draws,
        rollouts.rewards,
        rollouts.lengths,
        rollouts.terminated,
        settings=algorithm._ppo,
    )
    played = rollouts.played().ravel()
    actions = np.clip(2.5 * np.asarray(experience.actions), -1, 1)[played]
    np.testing.assert_allclose(actions, rollouts.actions.reshape(-1, 2)[played], atol=2e-5)
    assert 0.1 < (np.abs(actions) == 1).mean() < 0.9  # many are clipped, and their densities are known all the same
    ratio = log_density(learner.policy, experience.observations, experience.actions) - experience.log_densities
    np.testing.assert_allclose(ratio, 0, atol=1e-4)


def test_the_policy_runs_away_from_an_adversary_that_stands_still():
    """Without any reward, the bonus alone drives the policy away from what the adversary expects."""
    settings = {"reward_scale": 0.0, "bonus_steps": 10**9, "adversary_weight": 1.0}
    found = {}
    for name, bonus, rate in (("alone", 0.0, 0.0), ("pushed", 1.0, 0.0), ("followed", 1.0, 1e-2)):
        algorithm = small(bonus=bonus, adversary_rate=rate, **settings)
        before = algorithm._state.adversary.policy
        _, told = advance(algorithm, PLAYER, 15)
        found[name] = told["divergence"]
        if rate == 0:
            assert_equal(algorithm._state.adversary.policy, before)
    assert found["pushed"] > 5 * found["alone"]
    assert found["followed"] < found["pushed"] / 5  # and one that learns keeps up


def test_the_bonus_falls_to_zero():
    algorithm = small(bonus=0.5, bonus_steps=900)
    seen = []
    for _ in range(4):
        steps = algorithm.steps
        _, told = advance(algorithm, PLAYER)
        assert told["bonus"] == pytest.approx(0.5 * max(0, 1 - steps / 900))
        seen.append(told["bonus"])
    assert seen[0] == 0.5
    assert seen[-1] == 0


def test_an_adversary_may_see_descriptors_only():
    config = make_config("agac", "paper", "ant-trap", {"adversary_input": "descriptor"})
    assert make_algorithm("agac", AntTrap().spec, config, 0)._state.adversary.policy.mean.sizes == (2, 64, 64, 8)
    # In point-maze the descriptor is the observation, in [-1, 1] already.
    algorithms = [small(bonus=0.1, adversary_input=kind) for kind in ("observation", "descriptor")]
    for algorithm in algorithms:
        advance(algorithm, PLAYER, 2)
    assert_equal(*(algorithm._state for algorithm in algorithms))


def test_same_seed_same_run_and_another_seed_another():
    states = []
    for seed in (3, 3, 4):
        algorithm = small(seed)
        advance(algorithm, PLAYER, 3)
        states.append(algorithm.state())
    assert states[0].keys() == states[1].keys()
    assert_equal(states[0], states[1])
    name = "state.learner.policy.mean.weights[0]"
    assert not np.array_equal(states[0][name], states[2][name])


def test_resumes_exactly_where_it_stopped(tmp_path):
    whole, first, second = (small(3, normalise=True) for _ in range(3))
    advance(whole, PLAYER, 5)
    advance(first, PLAYER, 3)
    Checkpoints(tmp_path).write(first, Ties("", first.generation, first.steps, {}, {}), {"all": 0.0})
    Checkpoints(tmp_path).restore(second, "")
    second.ask()  # leaves no trace
    advance(second, PLAYER, 2)
    assert second.steps == whole.steps
    expected, found = whole.state(), second.state()
    assert found.keys() == expected.keys()
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array, err_msg=key)
    np.testing.assert_array_equal(all_episodes(whole.ask()).seeds, all_episodes(second.ask()).seeds)


@pytest.mark.parametrize("task", [TASK, AntTrap()])
@pytest.mark.parametrize("preset", ["paper", "tuned"])
def test_footprint_is_what_is_allocated(task, preset):
    config = make_config("agac", preset, task.spec.name, {})
    algorithm, foreseen = make_algorithm("agac", task.spec, config, 0), foresee("agac", config, task.spec)
    state = algorithm.state()
    elite = sum(leaf.size for leaf in jax.tree.leaves(algorithm.ask().candidates.policies)) + len(SAVED) + 8
    allocated = sum(array.nbytes for array in state.values())
    assert allocated < foreseen.checkpoint < allocated + 4 * elite + 2048
    assert foreseen.replay == 0
    assert 2**10 < foreseen.memory < 2**30


@pytest.mark.parametrize(
    "changes", [{"episodes": 0}, {"epochs": 0}, {"batch_size": 0}, {"start_deviation": 0.0}, {"action_scale": -1.0}]
)
def test_bad_settings_are_named(changes):
    with pytest.raises(UserError, match=next(iter(changes))):
        small(**changes)


def test_settings_survive_being_written_down():
    for preset in ("paper", "tuned"):
        for task in ("point-maze", "ant-trap", "ant-maze", "gym:Pendulum-v1"):
            config = make_config("agac", preset, task, {})
            assert config_from_json("agac", config_to_json(config)) == config


def test_published_settings():
    """The port's configuration for point-maze."""
    config = make_config("agac", "paper", "point-maze", {})
    assert (config.bonus, config.adversary_weight, config.bonus_steps) == (4e-4, 4e-5, 2_000_000)
    assert (config.actor_rate, config.critic_rate, config.adversary_rate) == (3e-4, 3e-4, 9e-5)
    assert (config.discount, config.trace_decay, config.ratio_clip) == (0.99, 0.95, 0.2)
    assert (config.value_clip, config.value_weight, config.entropy_weight) == (1000, 0.25, 0)
    assert (config.batch_size, config.epochs, config.episodes * 200, config.gradient_clip) == (512, 30, 1000, 0.5)
    assert config.hidden == config.adversary_hidden == (64, 64)


def test_summary_is_table_4():
    assert "".join("X✓"[mark] for mark in list(ALGORITHMS["agac"].summary().values())[1:]) == "✓✓XXX"


class Silent:
    def update(self, row):
        pass

    def say(self, sentence):
        pass


def test_commands_take_its_collection_of_one(tmp_path, capsys):
    config = config_to_json(make_config("agac", "tuned", "point-maze", SMALL | {"normalise": True}))
    options = {"goal": TASK.goal, "horizon": 60}
    run = create_run(tmp_path / "run", RunConfig("point-maze", options, "agac", "tuned", config, seed=1, steps=1200))
    trainer = Trainer(run, Silent())
    trainer.train()
    assert len(trainer.algorithm.elites) == 1
    assert verify.run(run.path, as_json=True) == 0
    assert show.run(run.path, as_json=True) == 0
    assert plot.run(run.path, quiet=True) == 0
    assert '"exact"' in capsys.readouterr().out
    best = load_run(run.path).elites.best()
    rollouts = PLAYER.play(trainer.algorithm.elites.policies(np.array([0])), np.array([5]))
    shown = best.act(rollouts.observations[0, :-1])
    np.testing.assert_allclose(shown, rollouts.actions[0], atol=1e-4)
    assert np.abs(shown).max() <= 1
