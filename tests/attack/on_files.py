"""Attacks on what is read: damaged files, and the runs of strangers."""

import random
from pathlib import Path

import damage
import strangers
from arena import COMMANDS, OF_MATRIX
from victims import MATRIX, files_of

# Those that take long come less often.
USUAL = [*["show"] * 4, *["report"] * 2, *["resume"] * 2, *["explore"] * 2, *COMMANDS]


def mutate(arena, seed, number):
    """Damage one file, then call a command: it is noticed, or does not matter."""
    rng = random.Random(f"mutate {seed} {number}")
    victim = MATRIX if rng.random() < 0.025 and arena.compares else rng.choice(arena.algorithms)
    command = rng.choice(list(OF_MATRIX) if victim == MATRIX else USUAL)
    expected = arena.expected(victim, command)
    copy = arena.fresh(victim)
    path = rng.choice(sorted(p for p in copy.rglob("*") if p.is_file()))
    kind = rng.choice(damage.KINDS)
    kind(path, rng, arena.victim(victim, 6))
    before = files_of(copy)
    done = arena.call(command, copy)
    name = f"{command} of {victim} after {kind.__name__} of {path.relative_to(copy)}"
    faults = []
    if fault := done.fault({0, 1, 2}):
        faults.append(f"{fault}: {name}: {done}")
    elif done.code == 0 and (found := arena.result(command, copy, done)) != expected:
        if not _is_said(command, path, done):
            faults.append(f"silent: {name}: {_difference(found, expected)}")
    elif done.code == 2 and (changed := _changed(before, files_of(copy))):
        faults.append(f"refused, but changed {changed}: {name}: {done.err}")
    if not arena.is_unharmed():
        faults.append(f"something outside was changed: {name}")
    return 1, faults


def stranger(arena, seed, number):
    """Open a run that somebody made to hurt, with digests that are right: nothing is executed, nothing breaks."""
    rng = random.Random(f"stranger {seed} {number}")
    victim = MATRIX if rng.random() < 0.025 and arena.compares else rng.choice(arena.algorithms)
    command = rng.choice(list(OF_MATRIX) if victim == MATRIX else USUAL)
    copy = arena.fresh(victim)
    strangers.set_traps(copy.parent)
    done_to_it = strangers.hurt(copy, rng, arena.path / "outside")
    before = files_of(copy)
    done = arena.call(command, copy)
    name = f"{command} of {victim} after {done_to_it}"
    faults = [f"{fault}: {name}: {done}"] if (fault := done.fault({0, 1, 2, 3})) else []
    if done.code == 2 and (changed := _changed(before, files_of(copy))):
        faults.append(f"refused, but changed {changed}: {name}: {done.err}")
    if not arena.is_unharmed():
        faults.append(f"something outside was changed: {name}")
    if strangers.is_sprung(copy.parent) or strangers.is_sprung(arena.traps):
        faults.append(f"code was executed: {name}: {done}")
    return 1, faults


def _difference(found, expected):
    return f"{str(found)[:600]} is not {str(expected)[:600]}"


def _changed(before, after):
    """What a command that failed has changed, but for locks and what was half written."""
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return sorted(name for name in names if Path(name).name != ".lock" and not Path(name).name.startswith(".tmp-"))


def _is_said(command, path, done):
    """Whether something that is not there any more is said not to be known."""
    if command.split()[0] == "explore" and path.suffix == ".csv" and path.name in done.err:
        return True  # it names the log and shows the elites without what training was like
    if path.name in ("evaluated.json", "evaluated.csv", "evaluated-episodes.csv"):
        return command.split()[0] in ("show", "report", "plot", "explore", "export")  # "not evaluated since …"
    return False
