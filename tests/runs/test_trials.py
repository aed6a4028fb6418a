"""Runs of algorithms that play inside `ask`: progress, counting, stopping half-way, and what is left on disk."""

import dataclasses

import numpy as np
import pytest
from small_runs import Silent

from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.cli import verify
from qdpg.runs.logs import read_csv
from qdpg.runs.run import RunConfig, create_run, load_run
from qdpg.runs.train import Trainer

SETTINGS = {"pairs": 6, "hidden": (8,), "evaluations": 2, "action_noise": 0.1, "chunk": 4}
CHUNKS = 3  # per generation


@pytest.fixture
def train():
    """Train a small evolution strategy in a directory."""

    def go(path, algorithm="me-es", stop=lambda: False, **changes):
        settings = config_to_json(make_config(algorithm, "tuned", "point-maze", SETTINGS))
        config = RunConfig("point-maze", {"horizon": 40}, algorithm, "tuned", settings, seed=3, steps=12_000)
        trainer = Trainer(create_run(path, dataclasses.replace(config, **changes)), Silent())
        trainer.train(stop)
        return trainer

    return go


def test_stopped_inside_a_generation_and_resumed_equals_never_stopped(tmp_path, train):
    whole = train(tmp_path / "whole")
    # The loop asks once per generation, and the strategy once per chunk but for the first generation.
    asked = iter([False] * (1 + 8 * (1 + CHUNKS) + 2) + [True] * 1000)
    stopped = train(tmp_path / "parts", stop=lambda: next(asked))
    assert stopped.algorithm.generation == 9
    assert stopped.display.rows[-1]["steps"] > stopped.algorithm.steps  # it had begun another one
    resumed = Trainer(load_run(tmp_path / "parts"), Silent())
    resumed.train()
    expected = whole.algorithm.state()
    for name, array in resumed.algorithm.state().items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)
    for log in ("metrics", "episodes", "evaluations"):
        first, second = (read_csv(tmp_path / part / f"{log}.csv") for part in ("whole", "parts"))
        for column in first:
            if not column.endswith("seconds"):
                np.testing.assert_array_equal(first[column], second[column], err_msg=f"{log}.{column}")


def test_progress_is_shown_inside_a_generation_and_all_episodes_count(tmp_path, train):
    trainer = train(tmp_path / "run", algorithm="nsra-es", steps=3000)
    shown = [row["steps"] for row in trainer.display.rows]
    assert (np.diff(shown) > 0).all()
    metrics = load_run(tmp_path / "run").metrics()
    assert len(shown) == 1 + (len(metrics["steps"]) - 1) * (1 + CHUNKS)
    np.testing.assert_array_equal(metrics["episodes"], [10] + [12 + 2] * (len(metrics["steps"]) - 1))
    assert metrics["steps"][-1] == 40 * metrics["episodes"].sum() == trainer.algorithm.steps
    assert {"fitness_weight", "last_reward", "perturbed_best"} <= metrics.keys()
    assert "last_reward" in load_run(tmp_path / "run").episodes()


@pytest.mark.parametrize("name", ["ns-es", "me-es"])
def test_elites_on_disk_replay_exactly_as_plain_networks(tmp_path, train, name, capsys):
    train(tmp_path / "run", algorithm=name)
    assert verify.run(tmp_path / "run", as_json=False) == 0
    assert "replay exactly" in capsys.readouterr().out
    best = load_run(tmp_path / "run").elites.best()
    assert np.abs(best.act(np.array([0.0, -0.8]))).max() <= 1


def test_map_elites_trains_without_transitions(tmp_path):
    small = {"population": 10, "initial_policies": 10, "hidden": (8,)}
    settings = config_to_json(make_config("cvt-map-elites", "tuned", "point-maze", small))
    config = RunConfig("point-maze", {"horizon": 40}, "cvt-map-elites", "tuned", settings, seed=0, steps=2000)
    trainer = Trainer(create_run(tmp_path / "run", config), Silent())
    trainer.train()
    again = Trainer(load_run(tmp_path / "run"), Silent())
    assert again.algorithm.elites.qd_score == pytest.approx(trainer.algorithm.elites.qd_score)
    assert verify.run(tmp_path / "run", as_json=True) == 0
