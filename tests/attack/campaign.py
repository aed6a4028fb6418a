"""The attacks. Each is a function of a seed and a number, so that any of them can be repeated alone."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import damage
import words
from victims import (
    ALGORITHMS,
    GRADIENTS,
    MORE,
    Outcome,
    Process,
    copy_of,
    files_of,
    limited,
    make_victim,
    plain_log,
    read_json,
    run,
    state_of,
    train_words,
    wait_until,
    without_clock,
)

RESUME = ("--steps", str(MORE), "--evaluate-seconds", "0", "--checkpoint-seconds", "0", "--quiet")
READING = {  # command -> further words, and what it leaves that must be the same as that of a run without damage
    "show": (["--json"], ()),
    "verify": (["--json"], ()),
    "plot": (["--quiet"], ("figures",)),
    "evaluate": (["--json", "--seconds", "60"], ()),
    "adapt": (["--trials", "2", "--goals", "3", "--quiet"], ("adapt",)),
    "report": (["--quiet", "--out", "report"], ("../report/tables",)),
    "export": (["--to", "npz", "--all", "--quiet"], ("export",)),
}


@dataclass
class Arena:
    """A directory with victims, something precious beside them, and what undamaged runs give."""

    path: Path
    algorithms: tuple[str, ...] = tuple(ALGORITHMS)

    def __post_init__(self):
        self.path.mkdir(parents=True, exist_ok=True)
        outside = self.path / "outside"
        if not outside.exists():
            outside.mkdir()
            (outside / "precious.txt").write_text("not yours\n" * 100)
        self.outside = files_of(outside)
        self._expected = {}

    def victim(self, algorithm, seed=5):
        """A run to attack, or with another seed one to take foreign files from."""
        path = self.path / f"victims-{seed}" / algorithm
        if not (path / "adapt" / "adapt.json").exists():
            shutil.rmtree(path, ignore_errors=True)
            path.parent.mkdir(exist_ok=True)
            make_victim(path, algorithm, seed)
        return path

    def fresh(self, algorithm):
        """A copy of a victim, in a directory of its own."""
        shutil.rmtree(self.path / "stage", ignore_errors=True)
        (self.path / "stage").mkdir()
        return copy_of(self.victim(algorithm), self.path / "stage" / damage.COPY)

    def is_unharmed(self):
        """Whether nothing beside the victims has changed."""
        return files_of(self.path / "outside") == self.outside

    def expected(self, algorithm, command):
        """What a command says and leaves of a run without damage."""
        key = algorithm, command
        if key not in self._expected:
            copy = self.fresh(algorithm)
            done = self.call(command, copy)
            assert done.code == 0, done
            self._expected[key] = self.result(command, copy, done)
        return self._expected[key]

    def call(self, command, copy):
        further = RESUME if command == "resume" else READING[command][0]
        return run(command, copy.name, *further, cwd=copy.parent)

    def result(self, command, copy, done):
        """What came of a command, without clocks."""
        if command == "resume":
            return state_of(copy)
        left = {name: _left(copy / name) for name in READING[command][1]}
        return without_clock(done.out) if command in ("show", "verify", "evaluate") else "", left


def _left(directory):
    """Figures and tables by name; of tables only what no clock and no memory had a part in."""
    if directory.name == "tables":
        kept = {
            path.name: path for path in directory.glob("*.csv") if "time" not in path.name and path.name != "runs.csv"
        }
        return {name: plain_log(path) for name, path in kept.items()}
    return {name: found for name, found in files_of(directory).items() if not name.endswith("trials.png")}


def kill(arena, seed, number):
    """SIGKILL at a random moment, ten times; then the run must be what it would have been without."""
    rng = random.Random(f"kill {seed} {number}")
    algorithm = rng.choice(arena.algorithms)
    copy, faults = arena.fresh(algorithm), []
    for _ in range(10):
        process = Process("resume", copy, "--steps", "1000000", *RESUME[2:])
        before = _size(copy / "metrics.csv")
        if rng.random() < 0.8:  # most of them while it trains
            wait_until(lambda: _size(copy / "metrics.csv") != before or not process.is_running())  # noqa: B023
        time.sleep(rng.uniform(0, 0.8))
        process.send(signal.SIGKILL)
        done = process.wait()
        if done.code != -signal.SIGKILL:
            faults.append(f"ended before it was killed: {done}")
    reached = read_json(max((copy / "checkpoints").glob("[0-9]*")) / "manifest.json")["steps"]
    last = ("--steps", str(reached + 200), *RESUME[2:])
    whole = copy_of(arena.victim(algorithm), copy.parent / "whole")
    for path in (copy, whole):
        done = run("resume", path, *last)
        if done.code != 0:
            return 10, [*faults, f"{done.fault() or 'refused'}: {done}"]
    if state_of(copy) != state_of(whole):
        faults.append("lost or other generations")
    if left := [path.name for path in copy.rglob(".tmp-*")]:
        faults.append(f"left behind: {left}")
    return 10, faults


def _size(path):
    return path.stat().st_size if path.exists() else 0


def mutate(arena, seed, number):
    """Damage one file, then call a command: it is noticed, or does not matter."""
    rng = random.Random(f"mutate {seed} {number}")
    algorithm = rng.choice(arena.algorithms)
    command = rng.choice(["show"] * 4 + ["report"] * 2 + ["resume"] * 2 + list(READING))  # the slow ones less often
    expected = arena.expected(algorithm, command)
    copy = arena.fresh(algorithm)
    path = rng.choice(sorted(p for p in copy.rglob("*") if p.is_file()))
    kind = rng.choice(damage.KINDS)
    kind(path, rng, arena.victim(algorithm, 6))
    before = files_of(copy)
    done = arena.call(command, copy)
    name = f"{command} of {algorithm} after {kind.__name__} of {path.relative_to(copy)}"
    faults = []
    if fault := done.fault({0, 1, 2}):
        faults.append(f"{fault}: {name}: {done}")
    elif done.code == 0 and (found := arena.result(command, copy, done)) != expected:
        if not _is_said(command, path, found, expected, done):
            faults.append(f"silent: {name}: {_difference(found, expected)}")
    elif done.code == 2 and (changed := _changed(before, files_of(copy))):
        faults.append(f"refused, but changed {changed}: {name}: {done.err}")
    if not arena.is_unharmed():
        faults.append(f"something outside was changed: {name}")
    return 1, faults


def _difference(found, expected):
    return f"{str(found)[:600]} is not {str(expected)[:600]}"


def _changed(before, after):
    """What a command that failed has changed, but for locks and what was half written."""
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return sorted(name for name in names if Path(name).name != ".lock" and not Path(name).name.startswith(".tmp-"))


def _is_said(command, path, found, expected, done):
    """Whether something that is not there any more is said not to be known."""
    if path.name in ("evaluated.json", "evaluated.csv", "evaluated-episodes.csv"):
        return command in ("show", "report", "plot")  # "not evaluated since it was trained"
    return False


def command_line(arena, seed, number):
    """A drawn command line: it does something, or says in one sentence why not."""
    rng = random.Random(f"command line {seed} {number}")
    copy = arena.fresh("map-elites")
    line = words.draw_line(rng, damage.COPY)
    try:
        [word.encode() for word in line]
    except UnicodeEncodeError:
        line = [os.fsencode(word.encode("utf-8", "surrogateescape")).decode(errors="surrogateescape") for word in line]
    done = run(*line, cwd=copy.parent)
    faults = [f"{fault}: {done}"] if (fault := done.fault()) else []
    if not arena.is_unharmed():
        faults.append(f"something outside was changed: {done}")
    return 1, faults


def settings(arena, seed, number):
    """Drawn settings of any algorithm: refused before anything is made, or trained."""
    from qdpg.algorithms.registry import ALGORITHMS as ALL
    from qdpg.algorithms.registry import make_config

    rng = random.Random(f"settings {seed} {number}")
    algorithm = rng.choice([*ALL, *arena.algorithms, "map-elites", "map-elites"])
    names = list(words.setting_names(make_config(algorithm, "tuned", "point-maze", {})))
    drawn = words.draw_settings(rng, [*names, "task.horizon", "task.goal"])
    small = {"population": "4", "initial_policies": "4", "hidden": "8,8", "task.horizon": "20", "batch_size": "16"}
    small |= {
        "gradient_steps_ratio": "0.1",
        "replay_size": "1000",
        "pairs": "4",
        "evaluations": "2",
        "start_steps": "10",
    }
    small |= {"greedy_steps": "2", "critic_steps": "2", "warm_up_steps": "0", "chunk": "8", "epochs": "1"}
    known = {pair.partition("=")[0] for pair in drawn}
    usual = [f"{k}={v}" for k, v in small.items() if (k in names or k.startswith("task.")) and k not in known]
    stage = arena.path / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir()
    line = ["train", "point-maze", "--algorithm", algorithm, "--steps", "40", "--evaluate-seconds", "0", "--out", "run"]
    done = run(*line, "--quiet", "--set", *usual, *drawn, cwd=stage)
    faults = [f"{fault}: {done}"] if (fault := done.fault({0, 2, 3})) else []
    if done.code == 2 and (left := list(stage.rglob("*"))):
        faults.append(f"refused, but left {left}: {done}")
    return 1, faults


def full_disk(arena, seed, number):
    """A disk that is full after a while: one sentence, and with room again the run goes on to the same end."""
    rng = random.Random(f"full disk {seed} {number}")
    algorithm = rng.choice(arena.algorithms)
    stage = arena.path / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir()
    disk = _Disk(arena.path / "disk", 4 * 2**20)
    with disk:
        copy = copy_of(arena.victim(algorithm), disk.path / damage.COPY)
        room = rng.choice([0, 1000, 5000, 20_000, 60_000, rng.randrange(300_000)])
        disk.fill(room)
        longer = ("--steps", "1000000", *RESUME[2:])
        process = Process("resume", copy, *longer, before=disk.limit)
        done = process.wait(120)
        faults = [f"{fault}: {done}"] if (fault := done.fault({2})) else []
        disk.free()
        reached = read_json(max((copy / "checkpoints").glob("[0-9]*")) / "manifest.json")["steps"]
        last = ("--steps", str(reached + 200), *RESUME[2:])
        whole = copy_of(arena.victim(algorithm), stage / "whole")
        for path in (copy, whole):
            again = run("resume", path, *last)
            if again.code != 0:
                return 1, [*faults, f"does not go on: {again}, after {done}"]
        if state_of(copy) != state_of(whole):
            faults.append(f"lost or other generations after {done}")
    return 1, faults


class _Disk:
    """A small disk of its own where we may mount one, else a limit on the size of files."""

    def __init__(self, path, size):
        self.path, self._size, self.limit = path, size, None

    def __enter__(self):
        self.path.mkdir(exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={self._size}", "qdpg-attack", str(self.path)]
        self.is_mounted = os.geteuid() == 0 and subprocess.run(mount, check=False, capture_output=True).returncode == 0
        return self

    def __exit__(self, *_):
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.path)], check=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def fill(self, room):
        """Leave so many bytes free."""
        if not self.is_mounted:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            self.limit = limited(FSIZE=room + 2000)
            return
        found = os.statvfs(self.path)
        filled = max(found.f_bavail * found.f_frsize - room, 0)
        with (self.path / "filler").open("wb") as file, contextlib.suppress(OSError):
            file.write(bytes(filled))

    def free(self):
        (self.path / "filler").unlink(missing_ok=True)


def signals(arena, seed, number):
    """A signal that asks to stop, from the first import on: saved, and it goes on to the same end."""
    rng = random.Random(f"signals {seed} {number}")
    algorithm = rng.choice(arena.algorithms)
    number = rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    copy = arena.fresh(algorithm)
    process = Process("resume", copy, "--steps", "1000000", *RESUME[2:])
    time.sleep(rng.uniform(0.0, 6.0))
    process.send(number)
    if rng.random() < 0.2:
        time.sleep(rng.uniform(0, 0.5))
        process.send(number)
    done = process.wait(60)
    is_python_starting = (
        done.code in (1, -signal.SIGINT) and "KeyboardInterrupt" in done.err and "cli/main" not in done.err
    )
    allowed = done.code in (128 + number, -number) or (number == signal.SIGINT and is_python_starting)
    faults = []
    if not allowed or ("Traceback" in done.err and not is_python_starting):
        faults.append(f"{done.fault() or 'wrong exit code'}: {number!r}: {done}")
    again = run("resume", copy, "--steps", "1", *RESUME[2:])
    if again.fault({2}):  # fewer steps than were played
        faults.append(f"cannot be taken up: {again} after {done}")
    steps = read_json(max((copy / "checkpoints").glob("[0-9]*")) / "manifest.json")["steps"]
    last = ("--steps", str(steps + 200), *RESUME[2:])
    whole = copy_of(arena.victim(algorithm), copy.parent / "whole")
    ended = [run("resume", path, *last) for path in (copy, whole)]
    if any(each.code != 0 for each in ended) or state_of(copy) != state_of(whole):
        faults.append(f"lost or other generations: {ended} after {done}")
    return 1, faults


def memory_limit(arena, seed, number):
    """Little memory: one sentence, or the result."""
    rng = random.Random(f"memory {seed} {number}")
    algorithm = rng.choice(arena.algorithms)
    copy = arena.fresh(algorithm)
    limit = round(2**30 * rng.choice([0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, rng.uniform(0.2, 8)]))
    command = rng.choice(["resume", "verify", "show"])
    further = RESUME if command == "resume" else READING[command][0]
    done = Process(command, copy, *further, before=limited(AS=limit)).wait()
    faults = [f"{fault}: limit {limit / 2**30:.2f} GiB: {done}"] if (fault := done.fault({0, 2})) else []
    return 1, faults


def read_only(arena, seed, number):
    """A directory that cannot be written to: one sentence from those who write, the result from those who read."""
    rng = random.Random(f"read-only {seed} {number}")
    algorithm = rng.choice(arena.algorithms)
    command = rng.choice([*READING, "resume", "train"])
    disk = _Disk(arena.path / "disk", 4 * 2**20)
    with disk:
        copy = copy_of(arena.victim(algorithm), disk.path / damage.COPY)
        if disk.is_mounted:
            subprocess.run(["mount", "-o", "remount,ro", str(disk.path)], check=True)
        else:
            for path in [copy, *copy.rglob("*")]:
                path.chmod(0o555)
        done = run(*train_words(disk.path / "new")) if command == "train" else arena.call(command, copy)
        must = {"show": {0}, "verify": {0}}.get(command, {2})
        faults = [f"{fault}: {done}"] if (fault := done.fault(must)) else []
        if not disk.is_mounted:
            for path in [copy, *copy.rglob("*")]:
                path.chmod(0o755)
    return 1, faults


def two_writers(arena, seed, number):
    """Two processes want the same run: one gets it."""
    rng = random.Random(f"two writers {seed} {number}")
    algorithm = rng.choice(arena.algorithms)
    is_new = rng.random() < 0.5
    expected = None if is_new else arena.expected(algorithm, "resume")
    copy = arena.fresh(algorithm)
    line = train_words(copy.parent / "new", algorithm) if is_new else ["resume", copy, *RESUME]
    processes = []
    for _ in range(2):
        processes.append(Process(*line))
        time.sleep(rng.uniform(0, 0.5))
    ended = [process.wait() for process in processes]
    faults = [f"{fault}: {done}" for done in ended if (fault := done.fault({0, 2}))]
    if all(done.code != 0 for done in ended):
        faults.append(f"nobody got it: {ended}")
    if is_new:
        if not faults and state_of(copy.parent / "new") != state_of(arena.victim(algorithm)):
            faults.append(f"another result: {ended}")
    elif not faults and state_of(copy) != expected:
        faults.append(f"another result: {ended}")
    return 1, faults


Attack = Callable[[Arena, int, int], tuple[int, list[str]]]
# name -> the attack, and how many of a long campaign
ATTACKS: dict[str, tuple[Attack, int]] = {
    "kills": (kill, 20),  # ten each
    "file mutations": (mutate, 1000),
    "command lines": (command_line, 1000),
    "settings": (settings, 300),
    "full disks": (full_disk, 30),
    "signals": (signals, 40),
    "memory limits": (memory_limit, 30),
    "read-only directories": (read_only, 20),
    "two writers": (two_writers, 20),
}


def one(arena, name, seed, number):
    """One attack, as a record that JSON can hold."""
    began = time.monotonic()
    count, faults = ATTACKS[name][0](arena, seed, number)
    seconds = round(time.monotonic() - began, 1)
    return {"attack": name, "seed": seed, "number": number, "count": count, "faults": faults, "seconds": seconds}


__all__ = ["ATTACKS", "GRADIENTS", "Arena", "Outcome", "json", "one"]
