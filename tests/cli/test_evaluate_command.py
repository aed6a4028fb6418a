"""`qdpg evaluate`, as somebody would type it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from qdpg import load_run
from qdpg.cli import evaluate, show
from qdpg.cli import train as train_command
from qdpg.evaluation.evaluate import EPISODES
from qdpg.runs.evaluated import read_evaluated_about

SMALL = ("task.horizon=30", "population=10", "initial_policies=20", "hidden=8,8")


def train(path, evaluate_seconds):
    settings = ("point-maze", "map-elites", "tuned", 1500, 1, path, SMALL, False, 60.0, evaluate_seconds, True)
    assert train_command.run_train(*settings) == 0
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = train(tmp_path_factory.mktemp("evaluate") / "run", 0.0)
    assert read_evaluated_about(path / "elites") is None
    return path


def test_training_evaluates_all_elites_at_the_end_unless_there_is_no_time(tmp_path):
    about = read_evaluated_about(train(tmp_path / "run", 100.0) / "elites")
    assert about is not None
    assert about["complete"]
    assert about["episodes"] == 20


def go(path, episodes=4, seed=0, seconds=float("inf"), as_json=False, quiet=False):
    return evaluate.run(path, episodes, seed, seconds, as_json, quiet)


def test_one_json_object_and_nothing_else(trained, capsys):
    assert go(trained, as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["episodes"] == 4
    assert found["complete"]
    assert found["best"]["mean"] <= found["stored"]["best"] + abs(found["stored"]["best"])
    assert found["elites"] == len(load_run(trained).elites)


def test_evaluated_values_come_first_and_stored_ones_are_called_optimistic(trained, capsys):
    assert go(trained) == 0
    shown = capsys.readouterr().out
    for text in (shown, shown_by_show(trained, capsys)):
        assert text.index("corrected QD score") < text.index("stored, optimistic")
        assert "end in their own cell" in text


def shown_by_show(path, capsys):
    assert show.run(path, as_json=False) == 0
    return capsys.readouterr().out


def test_quiet_says_nothing(trained, capsys):
    assert go(trained, quiet=True) == 0
    assert capsys.readouterr().out == ""


def test_interrupted_it_keeps_what_was_played_and_goes_on(trained):
    command = [sys.executable, "-m", "qdpg", "evaluate", str(trained), "--episodes", "20000", "--seed", "5"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log = trained / "elites" / EPISODES
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (log.exists() and _seed_of(trained) == 5 and os.path.getsize(log) > 200):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "plays the rest" in out or "not evaluated" in out
    kept = log.read_bytes()
    assert go(trained, episodes=20000, seed=5, seconds=0.0, quiet=True) == 0
    assert log.read_bytes() == kept


def _seed_of(path):
    try:
        return json.loads((path / "elites" / "evaluated.json").read_text())["seed"]
    except (OSError, ValueError):
        return None
