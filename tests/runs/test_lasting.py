"""Training with an archive of elites that last: exact in every way that training without it is."""

import dataclasses
import json

import jax
import numpy as np
import pytest
from small_runs import SMALL, Silent

from qdpg import load_run
from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.cli import verify
from qdpg.memory.reevaluated import ReevaluatedElites
from qdpg.play.player import make_player
from qdpg.runs.run import create_run
from qdpg.runs.train import Trainer
from unsealed import unseal_elites

LASTING = {"archive.reevaluations": 1.0, "archive.most_episodes": 4}


@pytest.fixture
def lasting(config):
    """The configuration of a small run whose elites are played again."""
    settings = config_to_json(make_config("qd-pg", "tuned", "point-maze", SMALL | LASTING))
    return dataclasses.replace(config, config=settings)


def go(path, config, stop=lambda: False):
    trainer = Trainer(create_run(path, config), Silent(), 1e9)
    trainer.train(stop)
    return trainer


def assert_same(one, other):
    ours, theirs = one.algorithm.state(), other.algorithm.state()
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        np.testing.assert_array_equal(values, theirs[name], err_msg=name)


def test_a_stopped_and_resumed_run_is_the_run_that_was_not_stopped(lasting, tmp_path):
    whole = go(tmp_path / "whole", lasting)
    calls = iter(range(1000))
    parts = go(tmp_path / "parts", lasting, stop=lambda: next(calls) > 3)
    assert parts.algorithm.steps < whole.algorithm.steps
    resumed = Trainer(load_run(tmp_path / "parts"), Silent(), 1e9)
    resumed.train()
    assert_same(resumed, whole)
    logs = [(tmp_path / name / "episodes.csv").read_bytes() for name in ("whole", "parts")]
    assert logs[0] == logs[1]


def test_elites_are_played_again_and_their_episodes_count(lasting, tmp_path, capsys):
    trainer = go(tmp_path / "run", lasting)
    elites = trainer.algorithm.elites
    assert isinstance(elites, ReevaluatedElites)
    assert elites.data()["episodes"].max() > 1
    assert elites.data()["episodes"].max() <= 4
    run = load_run(tmp_path / "run")
    assert trainer.algorithm.steps == run.episodes()["length"].sum()
    rows, seeds, fitness, behaviours = run.elites.stored_episodes()
    assert len(rows) == elites.data()["episodes"].sum()
    population = jax.tree.map(lambda leaf: leaf[rows], run.elites.population())
    noise = run.elites.noise._replace(sigma=run.elites.arrays["noise"][rows])
    played = make_player(run.task).play(population, seeds, noise=noise, record=False)
    assert np.array_equal(played.fitness, fitness)
    assert np.array_equal(played.behaviours, behaviours)
    assert verify.run(run.path, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == len(rows)


def test_verify_notices_one_wrong_episode(lasting, tmp_path, capsys):
    go(tmp_path / "run", lasting)
    from safetensors.numpy import load_file, save_file

    path = tmp_path / "run" / "elites" / "elites.safetensors"
    arrays = load_file(path)
    row = int(arrays["episodes"].argmax())
    arrays["trial_fitness"][row, arrays["episodes"][row] - 1] += 1.0
    save_file(arrays, path)
    unseal_elites(tmp_path / "run")  # else the digest of the file gives it away before any episode is played
    assert verify.run(tmp_path / "run", as_json=True) == 1
    found = json.loads(capsys.readouterr().out)
    assert [each["cell"] for each in found["different"]] == [int(arrays["index"][row])]
