"""The training loop: same seed, same run; stopped and resumed, same run; damaged, the run before."""

import dataclasses
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from safetensors.numpy import load_file
from small_runs import SMALL, Silent

from processes import Started, qdpg
from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.errors import DivergedError, UserError
from qdpg.learn.transitions import NOVELTY
from qdpg.runs.logs import read_csv
from qdpg.runs.records import write_record
from qdpg.runs.room import peak_memory
from qdpg.runs.run import change_steps, create_run, load_run, lock_run
from qdpg.runs.train import Trainer

CLOCKED = "seconds"  # columns that tell wall-clock time end in this


def assert_same_state(a, b):
    """Everything that an algorithm remembers must be equal bit for bit."""
    first, second = a.state(), b.state()
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    assert a.replay.inserted == b.replay.inserted
    np.testing.assert_array_equal(a.replay.rows[:, :NOVELTY], b.replay.rows[:, :NOVELTY])
    np.testing.assert_array_equal(a.replay.playable_slots(), b.replay.playable_slots())


def assert_same_logs(a, b):
    for name in ("metrics", "episodes", "evaluations"):
        assert (a / f"{name}.csv").exists() == (b / f"{name}.csv").exists()
        if not (a / f"{name}.csv").exists():  # no evaluation was due
            continue
        first, second = (read_csv(path / f"{name}.csv") for path in (a, b))
        assert first.keys() == second.keys()
        for column in first:
            if not column.endswith(CLOCKED):
                np.testing.assert_array_equal(first[column], second[column], err_msg=f"{name}.{column}")


def resumed(path, **changes):
    trainer = Trainer(load_run(path), Silent(), **changes)
    trainer.train()
    return trainer


@pytest.mark.parametrize(
    "extra",
    [
        {},
        pytest.param(
            {
                "greedy_steps": 20,
                "iso_line.share": 0.25,
                "cells": 20,
                "diversity.exploration_episodes": 1,
                "roll_in_steps": 10,
            },
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"algorithm": "dc-qd-pg", "direction_fields": 1, "population": 5, "warm_up_steps": 300, "stratified": 1.5},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_stopped_and_resumed_equals_never_stopped(tmp_path, train, extra):
    name = extra.pop("algorithm", "qd-pg")
    shared = {key: value for key, value in SMALL.items() if name == "qd-pg" or key != "candidate_noise"}
    settings = config_to_json(make_config(name, "tuned", "point-maze", shared | extra))
    whole = train(tmp_path / "whole", algorithm=name, config=settings)
    asked = iter([False] * 9 + [True] * 1000)
    stopped = train(tmp_path / "parts", stop=lambda: next(asked), algorithm=name, config=settings)
    assert 0 < stopped.algorithm.steps < whole.algorithm.steps
    parts = resumed(tmp_path / "parts")
    assert_same_state(whole.algorithm, parts.algorithm)
    assert_same_logs(tmp_path / "whole", tmp_path / "parts")
    assert whole.algorithm.replay.inserted > whole.algorithm.replay.capacity


def test_a_generation_given_up_took_its_time_too(tmp_path, train):
    asked = iter([lambda: False, lambda: False, lambda: time.sleep(5) or True, lambda: True])
    stopped = train(tmp_path / "run", stop=lambda: next(asked, lambda: True)())
    assert stopped.algorithm.generation == 1  # the second was given up among its gradient steps
    assert stopped.seconds >= sum(stopped.algorithm.clock.seconds.values()) >= 5


def test_same_seed_twice_is_the_same_run(tmp_path, train):
    first, second, other = train(tmp_path / "a"), train(tmp_path / "b"), train(tmp_path / "c", seed=4)
    assert_same_state(first.algorithm, second.algorithm)
    assert_same_logs(tmp_path / "a", tmp_path / "b")
    assert first.algorithm.elites.qd_score != other.algorithm.elites.qd_score


def test_an_ablation_trains(tmp_path, train):
    settings = config_to_json(make_config("qd-pg-sum", "tuned", "point-maze", SMALL))
    ablation = train(tmp_path / "a", algorithm="qd-pg-sum", config=settings, steps=800).algorithm
    assert ablation.steps >= 800
    assert any(name.startswith("state.learners['sum']") for name in ablation.state())


@pytest.mark.long
def test_killed_five_times_equals_never_killed(tmp_path, config, train):
    """`kill -9` at random moments of a real process, resumed each time."""
    run = create_run(tmp_path / "killed", dataclasses.replace(config, steps=10**9))
    moments = random.Random(0)
    kills = 0
    while kills < 5:
        before = _newest(run.path)
        process = Started("resume", run.path, "--checkpoint-seconds", "0.3", "--quiet")
        # Let it come up and get somewhere, then strike at a random moment.
        while _newest(run.path) == before and process.poll() is None:
            time.sleep(0.02)
        time.sleep(moments.uniform(0, 0.5))
        assert process.poll() is None, "it ended before it could be killed"
        process.send_signal(signal.SIGKILL)
        assert process.wait().returncode == -signal.SIGKILL
        kills += 1
    reached = json.loads((run.path / "checkpoints" / _newest(run.path) / "manifest.json").read_text())["steps"]
    change_steps(run, max(reached, 5000) + 1000)  # long enough for an evaluation
    killed = resumed(run.path)
    whole = train(tmp_path / "whole", steps=max(reached, 5000) + 1000)
    assert_same_state(whole.algorithm, killed.algorithm)
    assert_same_logs(tmp_path / "whole", run.path)
    assert not list(run.path.rglob(".tmp-*"))


def _newest(path):
    return max((p.name for p in (path / "checkpoints").glob("[0-9]*")), default=None)


def test_interrupt_saves_and_says_so(tmp_path, config):
    run = create_run(tmp_path / "run", dataclasses.replace(config, steps=10**9))
    process = Started("resume", run.path)
    while not (run.path / "metrics.csv").exists():
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    done = process.wait(60)
    assert done.returncode == 130, done.stderr
    assert "stopped" in done.stdout
    assert "qdpg resume" in done.stdout
    saved = json.loads((run.path / "checkpoints" / _newest(run.path) / "manifest.json").read_text())
    assert saved["steps"] == read_csv(run.path / "metrics.csv")["steps"][-1]


@pytest.fixture(scope="module")
def two_checkpoints(tmp_path_factory, small_config):
    """A run with exactly two checkpoints; whoever damages something copies it first."""
    path = tmp_path_factory.mktemp("checkpoints") / "run"
    for steps in (1000, 2000):
        run = load_run(path) if path.exists() else create_run(path, dataclasses.replace(small_config, steps=steps))
        Trainer(dataclasses.replace(run, config={**run.config, "steps": steps}), Silent(), 1e9).train()
    return path


def copy_of(run, path):
    """A copy of a run with two checkpoints, and these, the newest first."""
    shutil.copytree(run, path)
    checkpoints = sorted((path / "checkpoints").glob("[0-9]*"), reverse=True)
    assert len(checkpoints) == 2
    return checkpoints


@pytest.mark.parametrize("damage", ["truncate", "alter", "remove"])
@pytest.mark.parametrize("part", ["state.safetensors", "manifest.json", "replay"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(tmp_path, two_checkpoints, damage, part):
    newest, older = copy_of(two_checkpoints, tmp_path / "run")
    segments = json.loads((newest / "manifest.json").read_text())["replay"]["segments"]
    file = (newest.parent / "replay" / segments[-1]["file"]) if part == "replay" else newest / part
    content = file.read_bytes()
    if damage == "remove":
        file.unlink()
    else:
        file.write_bytes(content[: len(content) // 2] if damage == "truncate" else content[:-3] + b"xyz")
    display = Silent()
    trainer = Trainer(load_run(tmp_path / "run"), display)
    assert file.name in display.sentences[0]
    assert trainer.algorithm.generation == int(older.name)
    trainer.train()
    assert trainer.algorithm.steps >= 1000


def test_all_checkpoints_damaged_is_one_sentence(tmp_path, two_checkpoints):
    for path in copy_of(two_checkpoints, tmp_path / "run"):
        os.truncate(path / "state.safetensors", 10)
    with pytest.raises(UserError, match="no checkpoint of the run is usable"):
        Trainer(load_run(tmp_path / "run"), Silent())


def test_divergence_keeps_the_last_good_checkpoint(tmp_path, config, train):
    train(tmp_path / "run", steps=1000)
    trainer = Trainer(load_run(tmp_path / "run"), Silent())
    trainer.settings = dataclasses.replace(trainer.settings, steps=4000)
    learner = trainer.algorithm._state.learners["quality"]
    learner.critics.online[0].weights[0][0, 0] = np.nan  # as if an update had overflowed
    before = trainer.checkpoints.paths()
    with pytest.raises(DivergedError, match=r"(policy|quality critic).*generation \d+.*last checkpoint: generation"):
        trainer.train()
    assert trainer.checkpoints.paths() == before
    assert Trainer(load_run(tmp_path / "run"), Silent()).algorithm.steps >= 1000


def test_diverging_settings_exit_3(tmp_path):
    settings = [f"{k}={','.join(map(str, v)) if isinstance(v, tuple) else v}" for k, v in SMALL.items()]
    settings += ["optimiser=sgd", "loss=sum", "critic_rate=1e6", "task.horizon=40"]
    done = qdpg(
        "train",
        "point-maze",
        "--algorithm",
        "qd-pg",
        "--steps",
        4000,
        "--out",
        tmp_path / "r",
        "--quiet",
        "--set",
        *settings,
    )
    assert done.returncode == 3, done.stderr
    assert "not finite" in done.stderr
    assert "generation" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_one_sentence_and_harms_nothing(tmp_path, config):
    """A real process that may write no file above 20 kB, which fails as a full disk does."""
    run = create_run(tmp_path / "run", dataclasses.replace(config, steps=1500))
    limited = f"trap '' XFSZ; ulimit -f 20; exec {sys.executable} -B -m qdpg resume {run.path} --quiet"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2, done.stderr
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((run.path / "checkpoints").glob("[0-9]*"))
    assert resumed(run.path).algorithm.steps >= 1500


def test_elites_are_readable_without_qdpg(tmp_path, train):
    trainer = train(tmp_path / "run")
    about = json.loads((tmp_path / "run" / "elites" / "elites.json").read_text())
    arrays = load_file(tmp_path / "run" / "elites" / "elites.safetensors")
    row = int(arrays["fitness"].argmax())
    x = np.array([0.1, -0.8], np.float32)
    assert (about["policy"]["hidden"], about["policy"]["output"]) == ("relu", "linear")
    for i in range(len(about["policy"]["sizes"]) - 1):
        x = x @ arrays[f"weight_{i}"][row] + arrays[f"bias_{i}"][row]
        x = np.clip(x, -1, 1) if i == len(about["policy"]["sizes"]) - 2 else np.maximum(x, 0)
    best = load_run(tmp_path / "run").elites.best()
    np.testing.assert_allclose(best.act(np.array([0.1, -0.8])), x, rtol=1e-6)
    assert best.fitness == trainer.algorithm.elites.best_fitness


def test_elites_load_as_a_pyribs_archive(tmp_path, train):
    trainer = train(tmp_path / "run")
    archive = load_run(tmp_path / "run").elites.archive()
    ours = trainer.algorithm.elites.archive
    assert archive.stats.num_elites == ours.stats.num_elites
    assert archive.stats.qd_score == pytest.approx(ours.stats.qd_score)
    np.testing.assert_array_equal(archive.best_elite["solution"], ours.best_elite["solution"])


def test_only_one_process_may_train(tmp_path, config):
    run = create_run(tmp_path / "run", config)
    with lock_run(run), pytest.raises(UserError, match="another process is training"):
        lock_run(run)


def test_refuses_a_directory_in_use(tmp_path, config, train):
    train(tmp_path / "run", steps=100)
    with pytest.raises(UserError, match="already holds a run"):
        create_run(tmp_path / "run", config)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("do not lose")
    with pytest.raises(UserError, match="not empty"):
        create_run(tmp_path / "other", config)
    assert os.listdir(tmp_path / "other") == ["thesis.tex"]


def test_refuses_what_does_not_fit_in_memory(tmp_path):
    done = qdpg("train", "ant-trap", "--out", tmp_path / "r", "--set", "replay_size=2000000000")
    assert done.returncode == 2, done.stderr
    assert "of memory" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "r").exists()


def test_evaluations_do_not_count_and_come_at_every_multiple(tmp_path, train):
    trainer = train(tmp_path / "run", steps=11_000)
    evaluations = load_run(tmp_path / "run").evaluations()
    assert [int(s // 5000) for s in evaluations["steps"]] == [1, 2]
    metrics = load_run(tmp_path / "run").metrics()
    assert metrics["steps"][-1] == trainer.algorithm.steps
    assert (np.diff(metrics["steps"]) <= 7 * 40).all()  # four policies, one played again, two exploration episodes


def test_until_solved_stops_and_stays_stopped(tmp_path, train):
    """A goal on the way of nearly every policy: solved at the second of the first two evaluations."""
    easy = {"horizon": 40, "goal": [0.0, -0.85]}
    trainer = train(tmp_path / "run", task_options=easy, steps=100_000, until_solved=True)
    assert trainer.is_solved
    evaluations = load_run(tmp_path / "run").evaluations()
    assert [int(steps // 5000) for steps in evaluations["steps"]] == [1, 2]
    assert (evaluations["elite_mean_fitness"] >= trainer.task.spec.solved).all()
    assert trainer.algorithm.steps == evaluations["steps"][-1]
    again = resumed(tmp_path / "run")
    assert again.algorithm.steps == trainer.algorithm.steps


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of TensorBoard's own
def test_tensorboard_reads_the_events(tmp_path, train):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(tmp_path / "run")
    events = EventAccumulator(str(tmp_path / "run")).Reload()
    scalars = events.Scalars("train/qd_score")
    np.testing.assert_allclose([s.value for s in scalars], load_run(tmp_path / "run").metrics()["qd_score"], rtol=1e-6)


def test_peak_memory_is_kept_over_resumes(tmp_path, train):
    train(tmp_path / "run", steps=200)
    run = load_run(tmp_path / "run")
    held = run.peak_memory()
    # The system counts pages in batches, so that its figures are a little off.
    assert 0.9 * psutil.Process().memory_info().rss < held < 1.1 * peak_memory()
    write_record(tmp_path / "run" / "resources.json", {"peak_memory": 10**15})
    change_steps(run, 400)
    resumed(tmp_path / "run")
    assert load_run(tmp_path / "run").peak_memory() == 10**15, "an earlier process held more"
    (tmp_path / "run" / "resources.json").write_text("{")
    assert np.isnan(load_run(tmp_path / "run").peak_memory())
    change_steps(run, 600)
    resumed(tmp_path / "run")
    assert 0.9 * held < load_run(tmp_path / "run").peak_memory() < 1.1 * peak_memory(), (
        "what was damaged is written afresh"
    )
