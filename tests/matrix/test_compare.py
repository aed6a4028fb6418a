"""Small matrices for real, in real processes: killed and taken up again, failing in part, extended."""

import json
import os
import shutil
import signal
import time

import numpy as np
import psutil
import pytest
from safetensors.numpy import load_file

from processes import Started, qdpg
from qdpg import compare, load_run, train
from qdpg.errors import UserError
from qdpg.runs.logs import read_csv

SETTINGS = {"task.horizon": 40, "hidden": [8, 8], "population": 4, "initial_policies": 8}
CHEAP = {
    "tasks": ["point-maze"],
    "algorithms": ["map-elites"],
    "steps": 500,
    "settings": SETTINGS,
    "evaluate_seconds": 0.0,
}
LONG = CHEAP | {"algorithms": ["cvt-map-elites", "map-elites"], "steps": 24_000}  # 150 generations

OWN_TASKS = """
from dataclasses import dataclass
from qdpg.tasks.point_maze import PointMaze

@dataclass(frozen=True)
class Lost(PointMaze):
    def step(self, state, action):
        state, reward, ended = super().step(state, action)
        return state, reward * float("nan"), ended

@dataclass(frozen=True)
class Broken(PointMaze):
    def step(self, state, action):
        raise ValueError("the motor is not plugged in")
"""


def words(out, matrix, **options):
    """The command line for a matrix."""
    command = ["compare", "--out", str(out)]
    for name, value in (matrix | options).items():
        if name == "settings":
            texts = (f"{k}={json.dumps(v)}" for k, v in value.items())
            command += ["--set", *texts]
        else:
            value = ",".join(map(str, value)) if isinstance(value, list) else value
            command += [f"--{name.replace('_', '-')}", str(value)]
    return command


def checkpoint(run):
    """The number of the newest checkpoint of a run; 0 if there is none."""
    return max((int(p.name) for p in (run / "checkpoints").glob("[0-9]*")), default=0)


def begin_and_let_advance(command, run, generations):
    """Start a comparison; return it once `run` is some generations further than before."""
    goal = checkpoint(run) + generations
    process = Started(*command)
    while checkpoint(run) < goal:
        assert process.poll() is None, process.said()
        time.sleep(0.02)
    return process


def gone(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def assert_same_run(a, b):
    for name in ("metrics", "episodes", "evaluations"):
        first, second = (read_csv(path / f"{name}.csv") for path in (a, b))
        assert first.keys() == second.keys()
        for column in first:
            if not column.endswith("seconds"):
                np.testing.assert_array_equal(first[column], second[column], err_msg=f"{a} {name}.{column}")
    first, second = (load_file(path / "elites" / "elites.safetensors") for path in (a, b))
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=f"{a} {name}")


@pytest.mark.long
def test_killed_and_interrupted_equals_left_alone(tmp_path):
    """One run at a time on all cores and never stopped, against two at once with a share each and stopped thrice."""
    whole = compare(tmp_path / "whole", **LONG, seeds=1, jobs=1, quiet=True)
    assert whole.finished == whole.runs
    assert len(whole.runs) == 2

    out = tmp_path / "parts"
    run = out / "point-maze" / "map-elites" / "seed-0"
    begin, go_on = (
        words(out, LONG, seeds=1, jobs=2, checkpoint_seconds=0),
        words(out, {"checkpoint_seconds": 0, "evaluate_seconds": 0}),
    )

    process = begin_and_let_advance(begin, run, 1)
    children = psutil.Process(process.pid).children()
    assert children
    process.kill()  # alone: its runs notice, save and stop
    psutil.wait_procs(children, timeout=60)
    assert all(gone(child) for child in children)

    process = begin_and_let_advance(begin, run, 2)
    for each in (psutil.Process(process.pid), *psutil.Process(process.pid).children()):
        each.kill()  # all of them, as when the machine stops
    process.wait()

    process = begin_and_let_advance([*go_on, "--jobs", "2"], run, 2)
    process.send_signal(signal.SIGINT)
    done = process.wait(120)
    assert done.returncode == 130, done
    assert "stopped point-maze map-elites seed 0" in done.stdout
    assert f"go on with: qdpg compare --out {out}" in done.stdout
    saved = json.loads((run / "checkpoints" / f"{checkpoint(run):08d}" / "manifest.json").read_text())
    assert saved["steps"] == read_csv(run / "metrics.csv")["steps"][-1] < LONG["steps"]

    done = qdpg(*go_on)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 runs finished" in done.stdout
    for a in whole.runs:
        assert_same_run(a, out / a.relative_to(tmp_path / "whole"))
    assert not (out / "failures.json").exists()

    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and path.parent != out}
    again = compare(out, quiet=True)
    assert again.finished == again.runs
    after = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and path.parent != out}
    assert before == after  # finished runs are left alone


def test_a_run_in_the_place_of_another_is_refused(tmp_path):
    out = tmp_path / "out"
    first, second = compare(out, **CHEAP, seeds=2, quiet=True).runs
    first.rename(tmp_path / "aside")
    second.rename(first)
    with pytest.raises(UserError, match="was begun with seed 1, not 0; move it away"):
        compare(out, quiet=True)
    shutil.rmtree(first)
    small = {name: value for name, value in SETTINGS.items() if not name.startswith("task.")}
    train("point-maze", "map-elites", 500, out=first, task_options={"horizon": 41}, **small)
    with pytest.raises(UserError, match=r"was begun with task options {'horizon': 41}, not {'horizon': 40}"):
        compare(out, quiet=True)


@pytest.mark.long
def test_failed_runs_are_recorded_and_the_rest_goes_on(tmp_path):
    (tmp_path / "own.py").write_text(OWN_TASKS)
    command = words("out", CHEAP, tasks=["own:Lost", "own:Broken", "point-maze"], seeds="7-7")
    done = qdpg(*command, "--quiet", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert done.stderr == "qdpg: 2 runs of 3 failed; see out/failures.json\n"
    broken, lost = json.loads((tmp_path / "out" / "failures.json").read_text())["failures"]
    assert lost["run"] == "own-Lost/map-elites/seed-7"
    assert lost["exit_code"] == 3
    assert "not finite" in lost["error"]
    assert broken["run"] == "own-Broken/map-elites/seed-7"
    assert broken["exit_code"] == 1
    assert broken["error"] == "ValueError: the motor is not plugged in"
    for failure in (broken, lost):
        assert failure["error"] in (tmp_path / "out" / failure["log"]).read_text()
    assert load_run(tmp_path / "out" / "point-maze" / "map-elites" / "seed-7").metrics()["steps"][-1] >= 500


@pytest.mark.slow
def test_extended_by_a_seed_and_a_failed_run_tried_again(tmp_path):
    first = compare(tmp_path / "out", **CHEAP, seeds=1, quiet=True)
    assert first.finished == first.runs
    began = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert began["versions"]["qdpg"]
    assert began["algorithms"] == ["map-elites"]
    in_the_way = tmp_path / "out" / "point-maze" / "map-elites" / "seed-1"
    in_the_way.mkdir()
    (in_the_way / "thesis.tex").write_text("do not lose")

    second = compare(tmp_path / "out", seeds=2, quiet=True)
    assert second.finished == first.runs
    (failure,) = second.failures
    assert failure.exit_code is None
    assert "not empty" in failure.error
    assert os.listdir(in_the_way) == ["thesis.tex"]

    (in_the_way / "thesis.tex").unlink()
    (in_the_way / "manifest.json").write_text("{}")  # as far as a killed comparison came
    third = compare(tmp_path / "out", quiet=True)
    assert third.finished == third.runs == [*first.runs, in_the_way]
    assert third.failures == []
    assert json.loads((tmp_path / "out" / "failures.json").read_text())["failures"] == []
    now = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert now == began | {"seeds": [0, 1]}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tasks": None}, "no comparison in .* yet; a new one needs --tasks too"),
        ({"tasks": ["point-mase"]}, "did you mean 'point-maze'"),
        ({"algorithms": ["qd-gp"]}, "did you mean 'qd-pg'"),
        ({"algorithms": []}, "--algorithms is empty"),
        ({"algorithms": ["td3", "map-elites", "td3"]}, "names td3 twice"),
        ({"seeds": 0}, "--seeds is empty"),
        ({"seeds": [-1]}, "must be at least 0"),
        ({"steps": 0}, "--steps is 0"),
        ({"preset": "best"}, "no preset 'best'"),
        ({"settings": {"populaton": 3}}, "did you mean 'population'"),
        ({"settings": {"td3.start_steps": 3}}, "which is not one of the algorithms"),
        ({"settings": {"task.gaol": 3}}, "did you mean 'goal'"),
        ({"settings": {"hidden": object()}}, "plain numbers, words and lists"),
        ({"jobs": 0}, "--jobs is 0"),
        ({"threads": 100_000}, "--threads is 100000"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(tmp_path, changes, sentence):
    with pytest.raises(UserError, match=sentence) as caught:
        compare(tmp_path / "out", **(CHEAP | {"seeds": 1} | changes), quiet=True)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_bad_input_exits_2(tmp_path):
    (tmp_path / "thesis.tex").write_text("do not lose")
    for changes, sentence in (
        ({"seeds": "some"}, "neither a number of seeds nor a list"),
        ({"seeds": 1, "algorithms": "td3,,sac"}, "a name is missing"),
        ({"seeds": 1}, "is not empty and holds no comparison"),
    ):
        done = qdpg(*words(tmp_path, CHEAP, **changes))
        assert done.returncode == 2, done.stderr
        assert sentence in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert os.listdir(tmp_path) == ["thesis.tex"]
