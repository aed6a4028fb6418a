"""Copies of runs: taken while a real run is trained, at any moment, and always something to go on with."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.matrix.transfer import Copy, list_files, read_block, take_snapshot
from qdpg.runs.run import RunConfig, create_run, load_run
from qdpg.runs.ties import find_problems
from qdpg.runs.train import Trainer

SETTINGS = {"population": 4, "initial_policies": 8, "hidden": (8, 8)}
LEARNING = {"replay_size": 500, "batch_size": 8, "gradient_steps_ratio": 0.01}


class Quiet:
    def update(self, row):
        pass

    def say(self, sentence):
        pass


def make_run(path, algorithm="map-elites", **settings):
    config = config_to_json(make_config(algorithm, "tuned", "point-maze", SETTINGS | settings))
    made = RunConfig("point-maze", {"horizon": 20}, algorithm, "tuned", config, seed=991, steps=2000)
    return create_run(path / "original", made)


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path)


def fetch(run, copy, scratch):
    """One look at the original."""
    listing = take_snapshot(run.path, scratch, copy.known)
    read = []

    def read_counted(*what):
        block = read_block(scratch, *what)
        read.append(len(block))
        return block

    copy.update(listing, read_counted)
    return sum(read)


def contents(path):
    return {name: (path / name).read_bytes() for name in list_files(path)}


@pytest.mark.parametrize(
    ("algorithm", "settings"), [("map-elites", {}), pytest.param("qd-pg", LEARNING, marks=pytest.mark.slow)]
)
def test_at_any_moment_something_to_go_on_with(tmp_path, algorithm, settings):
    """Copied all the time by one thread while another trains, saving after every generation."""
    run = make_run(tmp_path, algorithm, **settings)
    copy, ended, looks = Copy(tmp_path / "copy", {}), threading.Event(), []
    training = threading.Thread(target=lambda: (Trainer(run, Quiet(), 0.0).train(), ended.set()))
    training.start()
    while not ended.is_set():
        looks.append(fetch(run, copy, tmp_path / "scratch"))
        here = load_run(copy.path)
        assert find_problems(copy.path, here.ties) == []
    training.join()
    fetch(run, copy, tmp_path / "scratch")
    assert len(looks) > 3
    assert contents(copy.path) == contents(run.path)
    # It goes on as the original would.
    for path in (run.path, copy.path):
        Trainer(load_run(path), Quiet(), 1e9, steps=2400).train()
    a, b = (load_file(path / "elites" / "elites.safetensors") for path in (run.path, copy.path))
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_only_what_is_new_travels(run, tmp_path):
    Trainer(run, Quiet(), 1e9).train()
    copy = Copy(tmp_path / "copy", {})
    first = fetch(run, copy, tmp_path / "scratch")
    assert first == sum(len(content) for content in contents(run.path).values())
    assert fetch(run, copy, tmp_path / "scratch") == 0
    with (run.path / "metrics.csv").open("ab") as file:
        file.write(b"1,2\n")
    assert fetch(run, copy, tmp_path / "scratch") == 4
    assert contents(copy.path) == contents(run.path)


def test_what_a_resumed_training_takes_back_is_taken_back(run, tmp_path):
    copy = Copy(tmp_path / "copy", {})
    log = run.path / "episodes.csv"
    for text in (b"a\n1\n2\n3\n", b"a\n1\n9\n8\n7\n", b"a\n1\n"):
        log.write_bytes(text)  # the same file: what is known of it has changed
        fetch(run, copy, tmp_path / "scratch")
        assert (copy.path / "episodes.csv").read_bytes() == text
    log.unlink()
    fetch(run, copy, tmp_path / "scratch")
    assert not (copy.path / "episodes.csv").exists()


def test_what_is_not_of_the_run_stays(run, tmp_path):
    copy = Copy(tmp_path / "copy", {})
    fetch(run, copy, tmp_path / "scratch")
    (copy.path / "figures").mkdir()
    (copy.path / "figures" / "mine.png").write_bytes(b"x")
    fetch(run, copy, tmp_path / "scratch")
    assert (copy.path / "figures" / "mine.png").exists()


def test_a_connection_that_breaks_leaves_no_half_checkpoint(run, tmp_path):
    Trainer(run, Quiet(), 1e9).train()
    listing = take_snapshot(run.path, tmp_path / "scratch", {})
    for breaks_after in range(1, len(listing)):
        path = tmp_path / f"copy-{breaks_after}"
        copy, left = Copy(path, {}), [breaks_after]

        def read(name, first, number, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise ConnectionError
            return read_block(tmp_path / "scratch", name, first, number)

        with pytest.raises(ConnectionError):
            copy.update(listing, read)
        found = list((path / "checkpoints").glob("[0-9]*")) if path.exists() else []
        assert all(len(list(each.iterdir())) == 2 for each in found)
        if (path / "config.json").exists() and (path / "manifest.json").exists():
            assert find_problems(path, load_run(path).ties) == []


def test_a_directory_that_vanishes_while_one_looks(run, tmp_path, monkeypatch):
    """As when an old checkpoint is removed between seeing its name and looking into it."""
    Trainer(run, Quiet(), 1e9).train()
    names, scandir = list_files(run.path), os.scandir

    def vanish(path="."):
        if Path(path).name.isdigit():
            Path(path).rename(tmp_path / Path(path).name)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanish)
    left = list_files(run.path)
    assert left
    assert set(names) - set(left) == {name for name in names if name.startswith("checkpoints/0")}
