"""The command line as a user meets it: a real process, its output and its exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from processes import qdpg
from qdpg.cli.main import join_settings
from qdpg.version import __version__


def test_version():
    command = [sys.executable, "-m", "qdpg", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, f"qdpg {__version__}\n")


@pytest.mark.parametrize(
    ("words", "joined"),
    [
        ("play t --quiet", "play t --quiet"),
        ("play t --set a=1 --seed 3 --set b=-2 c=x --quiet", "play t --seed 3 --quiet --set a=1 b=-2 c=x"),
        ("play --set=a=1 t --set b=2", "play t --set a=1 b=2"),
    ],
)
def test_settings_given_one_by_one_all_count(words, joined):
    assert join_settings(words.split()) == joined.split()


@pytest.fixture(scope="module")
def own_tasks(tmp_path_factory):
    """A directory with files that a user might have beside them."""
    directory = tmp_path_factory.mktemp("user")
    (directory / "broken.py").write_text("import no_such_module_anywhere\n")
    (directory / "empty.py").write_text("thing = 3\n")
    return directory


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["play", "point-mase"], "did you mean 'point-maze'"),
        (["play", "nothing-like-it"], "there is no task 'nothing-like-it'"),
        (["play", "point-maze", "--set", "task.goal"], "is not of the form key=value"),
        (["play", "point-maze", "--set", "task.goal", "--set", "task.horizon=9"], "is not of the form key=value"),
        (["play", "point-maze", "--set", "task.gaol=1,2"], "has no option 'gaol'; did you mean 'goal'?"),
        (["play", "point-maze", "--set", "task.x=1"], "has no option 'x'; it has: goal, horizon"),
        (["play", "point-maze", "--set", "task.goal=left"], "option 'goal' of task 'point-maze' must be tuple"),
        (["play", "point-maze", "--set", "task.horizon=0"], "must be at least 1"),
        (["play", "ant-maze", "--set", "task.reward_scale=0"], "must be positive"),
        (["play", "ant-trap", "--set", "task.contact=some"], "must be Literal['zeros', 'measured', 'left-out']"),
        (["play", "point-maze", "--set", "goal=1,2"], "write task.KEY=VALUE"),
        (["play", "point-maze", "--policies", "0"], "must be at least 1"),
        (["play", "broken:task"], "'broken' of task 'broken:task' does not import: ModuleNotFoundError"),
        (["play", "empty:task"], "module 'empty' has no 'task'"),
        (["play", "empty:thing"], "must be a task"),
        (["play", "gym:CartPole-v1"], "takes actions in Discrete(2)"),
        (["play", "gym:NoSuchEnv-v0"], "NoSuchEnv"),
        (["check-task", "nothing-like-it"], "there is no task"),
    ],
)
def test_bad_input_gets_one_sentence(words, sentence, own_tasks):
    done = qdpg(*words, cwd=own_tasks)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert sentence in done.stderr
    assert not (own_tasks / "runs").exists()  # nothing half written


def test_unknown_command_and_option_exit_2():
    assert qdpg("trian").returncode == 2
    assert qdpg("tasks", "--jsn").returncode == 2


def test_play_writes_a_picture(tmp_path):
    done = qdpg("play", "point-maze", "--policies", "20", "--out", str(tmp_path / "pictures"))
    assert done.returncode == 0, done.stderr
    picture = tmp_path / "pictures" / "point-maze.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "4,000 steps" in done.stdout
    assert str(picture) in done.stdout
    assert qdpg("play", "point-maze", "--policies", "3", "--out", str(tmp_path), "--quiet").stdout == ""


@pytest.mark.long
def test_bench_rollouts_prints_one_json_object():
    done = qdpg("bench", "rollouts", "--turns", "1", "--json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    ants = {"ant-maze", "ant-trap", "ant-trap-evaluate"}
    assert set(results) == ants | {"point-maze-4", "point-maze-1024"}
    for name in ants:
        assert 0 < results[name]["fraction_of_physics"] < 2
    assert all(measures["env_steps_per_s"] > 0 for measures in results.values())


def test_package_is_typed():
    import qdpg

    assert (Path(qdpg.__file__).parent / "py.typed").exists()
