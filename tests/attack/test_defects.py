"""What an attack on an earlier version found, each with the least that shows it."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from victims import MORE, Process, files_of, run, state_of, train_words, wait_until

from qdpg import load_run
from qdpg.errors import UntrustedError, UserError
from qdpg.runs.run import create_run
from qdpg.runs.train import Trainer

pytestmark = [pytest.mark.xdist_group("attack")]
RESUME = ("--steps", MORE, "--evaluate-seconds", "0", "--quiet")
PAYLOAD = """
from dataclasses import dataclass
from pathlib import Path
from qdpg.tasks.point_maze import PointMaze
Path("executed").write_text("")
@dataclass(frozen=True)
class Own(PointMaze):
    pass
"""


class Silent:
    def update(self, row):
        pass

    def say(self, sentence):
        pass


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small run with two checkpoints."""
    path = tmp_path_factory.mktemp("defects") / "run"
    done = run(*train_words(path))
    assert done.code == 0, done
    return path


@pytest.fixture
def victim(trained, tmp_path):
    return Path(shutil.copytree(trained, tmp_path / "run"))


def refused(*words, cwd=None):
    """Run a command that must be refused; return its sentence."""
    done = run(*words, cwd=cwd)
    assert not done.fault({2}), done
    (sentence,) = done.err.strip().splitlines()
    return sentence


def take_up(path, **options):
    return Trainer(load_run(path), Silent(), 1e9, **options)


@pytest.mark.parametrize("how", ["flip", "remove", "aside"])
def test_no_resume_starts_over_by_itself(victim, how):
    for checkpoint in (victim / "checkpoints").glob("[0-9]*"):
        if how == "flip":
            content = bytearray((checkpoint / "state.safetensors").read_bytes())
            content[-1] ^= 1
            (checkpoint / "state.safetensors").write_bytes(bytes(content))
        elif how == "remove":
            shutil.rmtree(checkpoint)
        else:  # as an earlier version did
            checkpoint.rename(checkpoint.with_name(f"damaged-{checkpoint.name}"))
    before = files_of(victim)
    for _ in range(2):
        with pytest.raises(UserError, match="--restart"):
            take_up(victim)
        assert files_of(victim) == before
    trainer = take_up(victim, restart=True)
    assert trainer.algorithm.steps == 0
    trainer.train()
    assert trainer.algorithm.steps >= 600


def test_what_cannot_be_read_just_now_is_not_called_damaged(victim, monkeypatch):
    before = files_of(victim)
    original = os.open

    def fail(path, *rest, **more):
        if str(path).endswith("state.safetensors"):
            raise PermissionError(13, "Permission denied", str(path))
        return original(path, *rest, **more)

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(PermissionError):
        take_up(victim)
    monkeypatch.undo()
    assert files_of(victim) == before
    assert take_up(victim).algorithm.steps >= 600


def test_restarted_equals_never_begun(victim, trained):
    done = run("resume", victim, "--restart", "--checkpoint-seconds", "0", "--evaluate-seconds", "0", "--quiet")
    assert done.code == 0, done
    assert state_of(victim) == state_of(trained)


def test_opening_a_run_executes_nothing(victim, tmp_path):
    """A stranger's run, called in a directory with a module of the name that it wants."""
    (tmp_path / "payload.py").write_text(PAYLOAD)
    own = tmp_path / "own"
    line = ["payload:Own" if word == "point-maze" else word for word in train_words(own)]
    done = run(*line, cwd=tmp_path)  # the user names it: that is trust
    assert done.code == 0, done
    assert (tmp_path / "executed").exists()
    (tmp_path / "executed").unlink()
    for words in (["show", own, "--json"], ["report", own, "--quiet"]):
        done = run(*words, cwd=tmp_path)
        assert done.code == 0, done
    for command in ("verify", "resume", "plot", "evaluate", "adapt", "export", "explore"):
        sentence = refused(command, own, cwd=tmp_path)
        assert "'payload'" in sentence
        assert str(tmp_path / "payload.py") in sentence
        assert "--trust" in sentence
    assert len(load_run(own).elites) > 0
    with pytest.raises(UntrustedError):
        _ = load_run(own).task
    assert not (tmp_path / "executed").exists()
    done = run("verify", own, "--trust", cwd=tmp_path)
    assert done.code == 0, done
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize("name", ["sys:exit", "os:fork", "os:getcwd", "builtins:breakpoint"])
def test_not_everything_that_can_be_called_is_called(name, tmp_path):
    assert "must be a task" in refused("check-task", name, cwd=tmp_path)


@pytest.mark.parametrize("steps", ["-1", "9" * 400, "601"])  # it has played 640
def test_a_refused_number_of_steps_changes_nothing(victim, steps):
    before = files_of(victim)
    done = run("resume", victim, "--steps", steps, "--quiet")
    assert not done.fault({2}), done
    assert files_of(victim) == before | {".lock": files_of(victim)[".lock"]}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda config: config | {"seed": 6}, "was changed since it was written"),
        (lambda config: config | {"config": config["config"] | {"iso_sigma": 0.5}}, "was changed"),
        (lambda config: {k: v for k, v in config.items() if k != "sha256"}, "lacks 'sha256'"),
        (lambda config: {k: v for k, v in config.items() if k != "sha256"} | {"format": 2, "seed": 6}, "another run"),
    ],
)
def test_changed_settings_do_not_go_on_silently(victim, change, sentence):
    path = victim / "config.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    for command in ("resume", "show"):
        assert sentence in refused(command, victim)


def test_elites_and_logs_of_another_run_are_noticed(victim, tmp_path):
    other = tmp_path / "other"
    assert run(*train_words(other, seed=6)).code == 0
    for name in ("elites", "metrics.csv", "episodes.csv"):
        copy = Path(shutil.copytree(victim, tmp_path / f"with-{name}"))
        for path in [other / name, *(other / name).rglob("*")]:
            if path.is_file():
                shutil.copyfile(path, copy / path.relative_to(other))
        for command in ("show", "report"):
            assert name in refused(command, copy)


def test_a_refused_command_leaves_nothing_and_the_corrected_one_works(tmp_path):
    assert "iso_sigma" in refused(*train_words(tmp_path / "new", settings=["iso_sigma=nan"]))
    assert not (tmp_path / "new").exists()
    done = run(*train_words(tmp_path / "new", steps=40))
    assert done.code == 0, done


def test_a_run_that_was_killed_while_it_was_made_can_be_made_again(victim, tmp_path):
    path, settings = tmp_path / "new", load_run(victim).settings
    path.mkdir()
    (path / "manifest.json").write_text("{")
    (path / ".tmp-config.json").write_text("{")
    assert create_run(path, settings).settings == settings


@pytest.mark.slow
def test_children_of_a_comparison_do_not_import_what_lies_about(tmp_path):
    (tmp_path / "queue.py").write_text("open('executed', 'w').close()\nraise SystemExit(0)\n")
    line = ["compare", "--out", "m", "--tasks", "point-maze", "--algorithms", "map-elites", "--seeds", "1"]
    line += ["--steps", "40", "--quiet", "--evaluate-seconds", "0", "--set", "population=4", "initial_policies=4"]
    done = Process(*line, "task.horizon=20", cwd=tmp_path).wait()
    assert done.code == 0, done
    assert not (tmp_path / "executed").exists()


def test_modules_that_lie_about_are_not_imported(tmp_path):
    """`python -m` puts the current directory first; we take it away again."""
    for name in ("numpy", "rich", "tyro"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w').close()\nraise SystemExit(0)\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path[1:])}
    line = [sys.executable, "-m", "qdpg", "algorithms", "--json"]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "map-elites" in done.stdout
    assert not (tmp_path / "executed").exists()


def test_brackets_and_escapes_in_names_mean_nothing(tmp_path):
    done = run(*train_words(tmp_path / "a[/b]", steps=40))
    assert done.code == 0, done
    done = run("show", tmp_path / "a[/b]")
    assert not done.fault({0}), done
    assert "[" in done.out.splitlines()[0] + done.out.splitlines()[1]
    assert "control a terminal" in refused("show", tmp_path / "\x1b[31mred")


def is_saved(path):
    """Whether the newest checkpoint of a run is of its last generation."""
    newest = max((path / "checkpoints").glob("[0-9]*"))
    last = (path / "metrics.csv").read_text().splitlines()[-1]
    return json.loads((newest / "manifest.json").read_text())["generation"] == int(last.split(",")[0])


@pytest.mark.slow
def test_a_kind_kill_saves(victim):
    process = Process("resume", victim, "--steps", 10**7, "--evaluate-seconds", "0", "--quiet")
    before = (victim / "metrics.csv").stat().st_size
    assert wait_until(lambda: (victim / "metrics.csv").stat().st_size > before)
    process.send_signal(signal.SIGTERM)
    done = process.wait()
    assert done.code == 128 + signal.SIGTERM, done
    assert is_saved(victim)


def test_a_closed_terminal_saves(victim):
    """The terminal itself is closed: besides the signal, every word said to it from then on is an error."""
    terminal, inside = pty.openpty()
    # A process of its own takes the terminal: to do so between fork and exec is not for a process with threads.
    takes = (
        "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "signal.signal(signal.SIGHUP, signal.SIG_DFL); os.execv(sys.executable, sys.argv[1:])"  # tests may run in nohup
    )
    words = [sys.executable, "-m", "qdpg", "resume", victim, "--steps", "1e7", "--evaluate-seconds", "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", takes, *words], stdin=inside, stdout=inside, stderr=inside, start_new_session=True
    )
    os.close(inside)
    before, shown = (victim / "metrics.csv").stat().st_size, b""
    while (victim / "metrics.csv").stat().st_size == before or b"cells" not in shown:
        shown += os.read(terminal, 2**16)
    os.close(terminal)
    try:
        assert process.wait(120) == 128 + signal.SIGHUP
    finally:
        process.kill()  # it would play ten million steps
        process.wait()
    assert is_saved(victim)


def test_ctrl_c_is_not_swallowed_by_an_import(victim):
    process = Process("resume", victim, "--steps", 10**7, "--quiet")
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)  # not waited for
    done = process.wait(60)
    assert done.code == 130, done
    assert "Traceback" not in done.err
