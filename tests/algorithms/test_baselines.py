"""What all baselines have in common: they learn, resume exactly, foresee their size, and serve every command."""

import numpy as np
import pytest
from small import NAMES, SMALL, TASK, advance, all_episodes, foresee, small, small_config

from qdpg.algorithms.registry import ALGORITHMS, config_from_json, config_to_json, make_algorithm, make_config
from qdpg.cli import plot, show, verify
from qdpg.learn.climbing import Stopped
from qdpg.learn.networks import flatten_population
from qdpg.play.player import make_player
from qdpg.runs.checkpoint import Checkpoints
from qdpg.runs.records import Ties
from qdpg.runs.run import RunConfig, create_run
from qdpg.runs.train import Trainer
from qdpg.tasks.ant_trap import AntTrap

# In one process they share compiled programs.
pytestmark = [pytest.mark.xdist_group("baselines")]


class Silent:
    def update(self, row):
        pass

    def say(self, sentence):
        pass


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "td3" else [pytest.mark.long])
        for name in NAMES
        if name != "diayn"  # which ignores the reward
    ],
)
def test_learns_an_open_way(name):
    algorithm, player = small(name, seed=1), make_player(TASK)
    while algorithm.steps < 5000:
        advance(algorithm, player)
    data = algorithm.elites.data()
    best = algorithm.elites.policies(np.repeat(data["objective"].argmax(), 20))
    scores = player.play(best, np.arange(1000, 1020)).fitness
    assert scores.mean() > -10, "going straight and staying beside the goal costs about -8; standing still about -57"
    assert not data["noise"].any()  # judged without noise


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in ("td3", "pga-me") else [pytest.mark.long]) for name in NAMES]
)
def test_resumes_exactly_where_it_stopped(name, tmp_path):
    player = make_player(TASK)
    whole, first, second = (small(name, seed=3) for _ in range(3))
    advance(whole, player, 8)
    advance(first, player, 5)
    Checkpoints(tmp_path).write(first, Ties("", first.generation, first.steps, {}, {}), {"all": 0.0})
    Checkpoints(tmp_path).restore(second, "")
    with pytest.raises(Stopped):
        second.ask(stop=lambda: True)
    second.ask()  # leaves no trace
    advance(second, player, 3)
    assert whole.steps > 800  # gradients were taken
    assert second.steps == whole.steps == whole.replay.transitions
    expected, found = whole.state(), second.state()
    assert found.keys() == expected.keys()
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array, err_msg=key)
    a, b = all_episodes(whole.ask()), all_episodes(second.ask())
    np.testing.assert_array_equal(flatten_population(a.policies), flatten_population(b.policies))
    np.testing.assert_array_equal(a.seeds, b.seeds)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("task", [TASK, AntTrap()])
def test_footprint_is_what_is_allocated(name, task):
    config = make_config(name, "paper", task.spec.name, {"replay_size": 10_000})
    algorithm = make_algorithm(name, task.spec, config, 0)
    foreseen, replay = foresee(name, config, task.spec), algorithm.replay
    assert foreseen.replay >= replay.rows.nbytes + replay.descriptors.nbytes
    allocated = sum(array.nbytes for array in algorithm.state().values())
    assert foreseen.checkpoint >= allocated
    policy = flatten_population(algorithm.ask().candidates.policies).shape[1]
    assert foreseen.checkpoint < 2 * allocated + 4 * 200 * policy


@pytest.mark.parametrize("name", NAMES)
def test_settings_survive_being_written_down(name):
    for preset in ("paper", "tuned"):
        for task in ("point-maze", "ant-trap", "gym:Pendulum-v1"):
            config = make_config(name, preset, task, {})
            assert config_from_json(name, config_to_json(config)) == config


def test_summary_is_table_4():
    marks = {name: "".join("X✓"[mark] for mark in list(ALGORITHMS[name].summary().values())[1:]) for name in NAMES}
    assert marks == {
        "td3": "✓XXXX",
        "sac": "✓XXXX",
        "rnd": "✓✓XXX",
        "diayn": "X✓XXX",
        "cem-rl": "✓X✓X✓",
        "p3s-td3": "✓✓XX✓",
        "pga-me": "✓X✓✓✓",
        "dcrl-me": "✓X✓✓✓",
    }


@pytest.mark.parametrize("name", ["td3", "sac", "diayn", "p3s-td3"])
def test_commands_take_a_collection_of_any_size(name, tmp_path, capsys):
    config = config_to_json(small_config(name))
    run = create_run(
        tmp_path / "run",
        RunConfig("point-maze", {"goal": TASK.goal, "horizon": 60}, name, "tuned", config, seed=1, steps=1200),
    )
    trainer = Trainer(run, Silent())
    trainer.train()
    assert len(trainer.algorithm.elites) == 1 or name not in ("td3", "sac")
    assert verify.run(run.path, as_json=True) == 0
    assert show.run(run.path, as_json=True) == 0
    assert plot.run(run.path, quiet=True) == 0
    assert '"exact"' in capsys.readouterr().out
    assert {path.stem for path in (run.path / "figures").iterdir()} == {
        "grid",
        "learning-curve",
        "coverage",
        "trajectories",
    }


def test_exploration_episodes_only_fill_the_replay_memory():
    algorithm, player = small("td3", exploration_episodes=2, noise_correlation=0.5), make_player(TASK)
    first = algorithm.ask()
    assert all_episodes(first).sigma.tolist() == pytest.approx([0, 3**-0.5, 3**-0.5])
    still = flatten_population(all_episodes(first).policies)
    assert not still[1:].any()  # what they do before the start is noise alone
    assert still[0].any()
    assert first.noise_correlation == 0
    while algorithm.steps < SMALL["batch_size"] + 400:
        advance(algorithm, player)
    later = algorithm.ask()
    assert all_episodes(later).sigma.tolist() == pytest.approx([0, 0.1, 0.1])
    assert later.noise_correlation == 0.5
    vectors = flatten_population(all_episodes(later).policies)
    np.testing.assert_array_equal(vectors[1], vectors[0])
    assert algorithm.replay.transitions == algorithm.steps
