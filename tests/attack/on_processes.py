"""Attacks on what runs: kills, signals, full disks, little memory, read-only directories, two writers."""

import random
import signal
import time

import damage
from arena import RESUME, Disk
from victims import MATRIX, Process, copy_of, files_of, limited, read_json, run, state_of, train_words, wait_until

from processes import Started

# Besides `resume`: what is killed, and how long it may live, in seconds.
KILLED = {"evaluate": 3, "adapt": 4, "report": 4, "plot": 4, "export npz": 3, "explore": 3, "compare": 8, "train": 4}


def kill(arena, seed, number):
    """SIGKILL at a random moment, ten times; then all must be as it would have been without."""
    rng = random.Random(f"kill {seed} {number}")
    command = "resume" if rng.random() < 0.7 else rng.choice(list(KILLED))
    return _kill_resume(arena, rng) if command == "resume" else _kill_other(arena, rng, command)


def _kill_resume(arena, rng):
    algorithm = rng.choice(arena.algorithms)
    copy, faults = arena.fresh(algorithm), []
    for _ in range(10):
        # Some from the first import on; the others from a process that has imported all, which is sooner at work.
        start = Process if rng.random() < 0.2 else Started
        process = start("resume", copy, "--steps", "1000000", *RESUME[2:])
        before = _size(copy / "metrics.csv")
        if rng.random() < 0.8:  # most of them while it trains
            wait_until(lambda: _size(copy / "metrics.csv") != before or process.poll() is not None)  # noqa: B023
        time.sleep(rng.uniform(0, 0.8))
        process.send_signal(signal.SIGKILL)
        if (code := process.end_of()) != -signal.SIGKILL:
            faults.append(f"ended with {code} before it was killed")
    faults += goes_on(arena, algorithm, copy)
    if left := [path.name for path in copy.rglob(".tmp-*")]:
        faults.append(f"left behind: {left}")
    return 10, faults


def _kill_other(arena, rng, command):
    """Kill a command that reads a run, or makes one: called again it gives what it would have given."""
    victim = MATRIX if command == "compare" else rng.choice(arena.algorithms)
    expected = state_of(arena.victim(victim)) if command == "train" else arena.expected(victim, command)
    copy, faults = arena.fresh(victim), []
    before = files_of(copy)
    line = train_words("new", victim) if command == "train" else arena.words(command, copy.name)
    for _ in range(10):
        process = Started(*line, cwd=copy.parent)
        end = time.monotonic() + rng.uniform(0, KILLED[command])
        wait_until(lambda: time.monotonic() > end or process.poll() is not None)  # noqa: B023
        process.send_signal(signal.SIGKILL)
        process.end_of()  # it may have been done before
        if command == "train" and (copy.parent / "new" / "config.json").exists():
            line = ["resume", "new", *RESUME[2:]]
    done = run(*line, cwd=copy.parent)
    if done.fault({0}):
        return 10, [f"{done.fault({0})} after kills: {done}"]
    found = state_of(copy.parent / "new") if command == "train" else arena.result(command, copy, done)
    if found != expected:
        faults.append(f"{command} of {victim} gives something else after kills: {done}")
    kept = {name: digest for name, digest in before.items() if "evaluated" not in name and ".lock" not in name}
    after = files_of(copy)
    if command != "compare" and (lost := [name for name in kept if after.get(name) != kept[name]]):
        lost = [name for name in lost if not name.startswith(("figures/", "adapt/"))]
        faults += [f"{command} killed changed {lost}"] if lost else []
    return 10, faults


def _size(path):
    return path.stat().st_size if path.exists() else 0


def goes_on(arena, algorithm, copy, whole=None):
    """Train on, and the same run that nothing was done to: what differs, in words."""
    reached = read_json(max((copy / "checkpoints").glob("[0-9]*")) / "manifest.json")["steps"]
    last = ("--steps", str(reached + 200), *RESUME[2:])
    whole = copy_of(arena.victim(algorithm), whole or copy.parent / "whole")
    for path in (copy, whole):
        done = run("resume", path, *last)
        if done.code != 0:
            return [f"does not go on: {done.fault() or 'refused'}: {done}"]
    return [] if state_of(copy) == state_of(whole) else ["lost or other generations"]


def full_disk(arena, seed, number):
    """A disk that is full after a while: one sentence, and with room again the run goes on to the same end."""
    rng = random.Random(f"full disk {seed} {number}")
    algorithm, stage = rng.choice(arena.algorithms), arena.stage()
    with Disk(arena.path / "disk") as disk:
        copy = copy_of(arena.victim(algorithm), disk.path / damage.COPY)
        disk.fill(rng.choice([0, 1000, 5000, 20_000, 60_000, rng.randrange(300_000)]))
        process = Process("resume", copy, "--steps", "1000000", *RESUME[2:], before=disk.limit)
        done = process.wait()
        faults = [f"{fault}: {done}"] if (fault := done.fault({2})) else []
        disk.free()
        faults += [f"{fault}, after {done}" for fault in goes_on(arena, algorithm, copy, stage / "whole")]
    return 1, faults


def signals(arena, seed, number):
    """A signal that asks to stop, from the first import on: saved, and it goes on to the same end."""
    rng = random.Random(f"signals {seed} {number}")
    algorithm = rng.choice(arena.algorithms)
    number = rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    copy = arena.fresh(algorithm)
    process = Process("resume", copy, "--steps", "1000000", *RESUME[2:])
    time.sleep(rng.uniform(0.0, 6.0))
    process.send_signal(number)
    if rng.random() < 0.2:
        time.sleep(rng.uniform(0, 0.5))
        process.send_signal(number)
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
    return 1, faults + [f"{fault} after {done}" for fault in goes_on(arena, algorithm, copy)]


def memory_limit(arena, seed, number):
    """Little memory: one sentence, or the result."""
    rng = random.Random(f"memory {seed} {number}")
    copy = arena.fresh(rng.choice(arena.algorithms))
    limit = round(2**30 * rng.choice([0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, rng.uniform(0.2, 8)]))
    command = rng.choice(["resume", "verify", "show", "evaluate", "export npz", "explore"])
    done = Process(*arena.words(command, copy.name), cwd=copy.parent, before=limited(AS=limit)).wait()
    faults = [f"{fault}: limit {limit / 2**30:.2f} GiB: {done}"] if (fault := done.fault({0, 2})) else []
    return 1, faults


def read_only(arena, seed, number):
    """A directory that cannot be written to: one sentence from those who write, the result from those who read."""
    rng = random.Random(f"read-only {seed} {number}")
    victim = rng.choice(arena.algorithms)
    command = rng.choice([*READ_ONLY, "train", "compare"])
    victim = MATRIX if command == "compare" else victim
    with Disk(arena.path / "disk") as disk:
        copy = copy_of(arena.victim(victim), disk.path / damage.COPY)
        disk.make_read_only()
        done = run(*train_words(disk.path / "new")) if command == "train" else arena.call(command, copy)
        must = {0} if command in ("show", "verify", "explore served") else {2}
        faults = [f"{fault}: {done}"] if (fault := done.fault(must)) else []
    return 1, faults


READ_ONLY = (
    *("show", "verify", "resume", "plot", "evaluate", "adapt", "report", "export npz", "export onnx"),
    *("explore", "explore served"),
)


def two_writers(arena, seed, number):
    """Two processes want the same run: one gets it."""
    rng = random.Random(f"two writers {seed} {number}")
    algorithm = rng.choice(arena.algorithms)
    is_new = rng.random() < 0.5
    expected = state_of(arena.victim(algorithm)) if is_new else arena.expected(algorithm, "resume")
    copy = arena.fresh(algorithm)
    path = copy.parent / "new" if is_new else copy
    line = train_words(path, algorithm) if is_new else ["resume", path, *RESUME]
    processes = []
    for _ in range(2):
        processes.append(Process(*line))
        time.sleep(rng.uniform(0, 0.5))
    ended = [process.wait() for process in processes]
    faults = [f"{fault}: {done}" for done in ended if (fault := done.fault({0, 2}))]
    if all(done.code != 0 for done in ended):
        faults.append(f"nobody got it: {ended}")
    if not faults and state_of(path) != expected:
        faults.append(f"another result: {ended}")
    return 1, faults
