"""Runs to attack, commands to attack them with, and what came of it."""

import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

from processes import Started, Warm

SMALL = ["population=4", "initial_policies=4", "hidden=8,8", "task.horizon=40", "cells=4,4"]
GRADIENTS = [*SMALL, "gradient_steps_ratio=0.1", "batch_size=16", "replay_size=600"]
STEPS = 600
MORE = 1000  # what `resume` goes on to
ALGORITHMS = {"map-elites": SMALL, "qd-pg": GRADIENTS}
MATRIX = "comparison"  # a victim with several runs
CODES = {0, 1, 2, 3, 128 + signal.SIGHUP, 128 + signal.SIGINT, 128 + signal.SIGTERM, 141}
HUGE = 2**30  # bytes that no file of a victim has
PATIENCE = 150.0  # seconds after which a command hangs, on a machine that does other things too
CLOCKED = re.compile(r'"(seconds|steps_per_second|[a-z_]*seconds|time_shares|started|revision)": ?(\{[^}]*\}|[^,}\n]*)')


class Outcome(NamedTuple):
    """How a command ended; `code` is negative for a signal, None if it did not end."""

    words: tuple[str, ...]
    code: int | None
    out: str
    err: str

    def fault(self, codes=CODES):
        """What must never be, in a word; None if all is well."""
        if self.code is None:
            return "hang"
        if "Traceback" in self.err or "Traceback" in self.out:
            return "traceback"
        if self.code < 0 or self.code == 134:
            return "abort"
        if self.code not in codes:
            return f"exit code {self.code}"
        if self.code == 2 and not self.err.strip():
            return "no sentence"
        if "\x1b" in self.out + self.err:
            return "escape sequence"
        return None


def run(*words, cwd=None, patience=PATIENCE):
    """Run a command in a process forked from one that has imported the libraries."""
    return _outcome(Started(*words, cwd=cwd), words, patience)


_WARM = Warm()


def run_warm(*words, cwd=None, patience=PATIENCE):
    """Run a command in a process that has run others before, which costs a tenth."""
    try:
        done = _WARM.run(*words, cwd=cwd, timeout=patience)
    except TimeoutError as error:
        return Outcome(tuple(map(str, words)), None, "", str(error))
    return Outcome(tuple(map(str, words)), done.returncode, done.stdout, done.stderr)


def serve(*words, cwd=None, patience=PATIENCE):
    """Run `qdpg explore` until it serves; look at its page, and ask it to stop, which is a good end."""
    started = Started(*words, cwd=cwd)
    wait_until(lambda: started.poll() is not None or "http://" in started.said()[0], patience)
    if started.poll() is None and (found := re.search(r"http://\S+", started.said()[0])):
        with contextlib.suppress(OSError):  # it ends by itself, or says what is wrong
            urllib.request.urlopen(found[0], timeout=30).read()
        started.send_signal(signal.SIGTERM)
    return _outcome(started, words, patience)


def _outcome(started, words, patience):
    try:
        done = started.wait(patience)
    except TimeoutError as error:
        return Outcome(tuple(map(str, words)), None, "", str(error))
    return Outcome(tuple(map(str, words)), done.returncode, done.stdout, done.stderr)


class Process:
    """`qdpg` in a process of its own, from its first import; `before` is called in it before anything else."""

    def __init__(self, *words, cwd=None, before=None, environment=None):
        self.words = tuple(map(str, words))
        self._files = [tempfile.TemporaryFile("w+") for _ in range(2)]  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "qdpg", *self.words],
            stdin=subprocess.DEVNULL,
            stdout=self._files[0],
            stderr=self._files[1],
            cwd=cwd,
            preexec_fn=before,
            env=os.environ | (environment or {}),
            start_new_session=True,
        )

    def send_signal(self, number):
        """Send a signal, if it is still there."""
        if self._process.poll() is None:
            self._process.send_signal(number)

    def poll(self):
        return self._process.poll()

    def end_of(self):
        """Wait for its end; return its code."""
        return self.wait().code

    def wait(self, patience=PATIENCE):
        """Wait for its end."""
        try:
            code = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            code = None
        texts = []
        for file in self._files:
            file.seek(0)
            texts.append(file.read())
            file.close()
        return Outcome(self.words, code, *texts)


def train_words(out, algorithm="map-elites", steps=STEPS, seed=5, settings=()):
    chosen = [*ALGORITHMS[algorithm], *settings]
    words = ["train", "point-maze", "--algorithm", algorithm, "--steps", steps, "--seed", seed, "--out", out, "--quiet"]
    return [*words, "--checkpoint-seconds", "0", "--evaluate-seconds", "9", "--set", *chosen]


def make_victim(path, kind="map-elites", seed=5):
    """Train a run that has two checkpoints, is evaluated, drawn and adapted; or a comparison with one such run."""
    commands = [train_words(path, kind, seed=seed), ["plot", path, "--quiet"]] if kind != MATRIX else []
    commands += [["adapt", path, "--trials", "2", "--goals", "3", "--quiet"]] if kind != MATRIX else []
    if kind == MATRIX:
        line = ["compare", "--out", path, "--tasks", "point-maze", "--algorithms", "map-elites", "--jobs", "1"]
        line += ["--seeds", f"{seed},{seed + 2}", "--steps", STEPS, "--quiet", "--evaluate-seconds", "9"]
        commands.append([*line, "--checkpoint-seconds", "0", "--set", *SMALL])
    for words in commands:
        done = run(*words)
        assert done.code == 0, done
    if kind == MATRIX:  # the second run is yet to be trained
        for left in path.glob(f"*/*/seed-{seed + 2}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    else:
        assert len(list((path / "checkpoints").glob("[0-9]*"))) == 2
    return path


def files_of(directory):
    """All regular files beneath, with their contents' digests; other things by their kind."""
    found = {}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        elif path.is_file() and path.stat().st_size > HUGE:
            found[name] = f"{path.stat().st_size} bytes"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif not path.is_dir():
            found[name] = "other"
    return found


def plain_log(path):
    """A log without what the clock says."""
    if not path.exists():
        return None
    lines = [line.split(",") for line in path.read_text().splitlines()]
    kept = [n for n, name in enumerate(lines[0]) if not name.endswith("seconds")]
    return [[line[n] for n in kept] for line in lines]


def results_of(run_directory):
    """Elites and logs of a run, but for clocks."""
    elites = hashlib.sha256((run_directory / "elites" / "elites.safetensors").read_bytes()).hexdigest()
    logs = {name: plain_log(run_directory / f"{name}.csv") for name in ("metrics", "episodes", "evaluations")}
    return {"elites": elites, **logs}


def state_of(run_directory):
    """All that a training came to, but for clocks and formats."""
    newest = max((run_directory / "checkpoints").glob("[0-9]*"))
    state = hashlib.sha256((newest / "state.safetensors").read_bytes()).hexdigest()
    return {"newest": newest.name, "state": state, **results_of(run_directory)}


def without_clock(text):
    """The text of an outcome without times."""
    return CLOCKED.sub("", text)


def copy_of(victim, path):
    """A fresh copy."""
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(victim, path)
    return path


def limited(**limits):
    """A function that limits a process before it begins: `limited(AS=2**31)`."""

    def limit():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))

    return limit


def wait_until(condition, patience=PATIENCE):
    """Wait until `condition()`; whether it came true."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def read_json(path):
    return json.loads(Path(path).read_text())
