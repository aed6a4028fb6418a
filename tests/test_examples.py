"""The examples run, and do what they say."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import optuna
import pytest

ROOT = Path(__file__).parents[1]
SMALL = {"population": 10, "initial_policies": 10, "hidden": (8, 8)}


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_chosen_policy_ends_where_it_was_stored(tmp_path, capsys):
    ended = load("train_and_use").main(steps=6000, out=tmp_path / "run", place=(0.0, -0.9), **SMALL)
    stored = re.search(r"stored \[(.*?)\]", capsys.readouterr().out)[1]
    np.testing.assert_allclose(ended, np.array(stored.split(), float), atol=1e-4)


@pytest.mark.slow
def test_the_search_finds_settings_and_gives_trials_up(tmp_path):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = load("tune_with_optuna").main(trials=6, steps=20_000, out=tmp_path, hidden=(8, 8), initial_policies=20)
    states = [trial.state.name for trial in study.trials]
    assert len(list(tmp_path.glob("trial-*/metrics.csv"))) == 6
    assert states.count("PRUNED") >= 1
    assert states.count("COMPLETE") >= 3
    assert study.best_value == max(trial.value for trial in study.trials if trial.value is not None)
