"""Command lines and settings, good and bad, drawn from a seed. Commands join when `qdpg` has them."""

import dataclasses

NUMBERS = [
    "0",
    "-1",
    "1",
    "2",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e5",
    "0x10",
    "9" * 400,
    "2147483648",
    "1.5",
    "",
    "many",
]
NAMES = [
    *("", " ", ".", "..", "/", "-", "--", "a[/b]", "[red]x[/red]", "\x1b[31mred", "‮txt", "=1+1", "@x", "é", "x" * 300),
    *("point-maze", "point-mase", "ant-trap", "gym:", "gym:Pendulum-v1", "gym:os:x", "sys:exit", "os:fork", "no:thing"),
    *("qd-pg", "map-elites", "paper", "tuned", "\udcff", "a\nb", "$(touch x)", "; rm -rf x", "%s%n", "{0}", "\\"),
]
SETTINGS = [
    *("population=0", "population=-1", "hidden=", "hidden=0", "hidden=8,8", "cells=0,0", "cells=3", "neighbours=0"),
    *(
        "x=1",
        "=",
        "a",
        "task.horizon=0",
        "task.horizon=nan",
        "task.goal=1",
        "task.x=1",
        "population=4",
        "population=1e99",
    ),
    *(
        "population=[[]]",
        "population={}",
        "population=null",
        "population=true",
        "batch_size=0",
        "delay=0",
        "iso_sigma=nan",
    ),
    *("iso_line.share=nan", "iso_line=1", "quality.discount=2", "quality=1", "task.env=x", "task.name=x", "a.b.c=1"),
]
CHEAP = ["--algorithm", "map-elites", "--steps", "1", "--evaluate-seconds", "0"]
FLAGS = {  # option -> where its values come from; None has no value
    "--steps": NUMBERS,
    "--seed": NUMBERS,
    "--algorithm": NAMES,
    "--preset": NAMES,
    "--out": NAMES,
    "--set": SETTINGS,
    "--checkpoint-seconds": NUMBERS,
    "--evaluate-seconds": NUMBERS,
    "--episodes": NUMBERS,
    "--seconds": NUMBERS,
    "--trials": NUMBERS,
    "--goals": NUMBERS,
    "--starts": NAMES,
    "--policies": NUMBERS,
    "--tasks": NAMES,
    "--algorithms": NAMES,
    "--seeds": [*NUMBERS, "0-", "1,1", "0-99999999"],
    "--jobs": NUMBERS,
    "--threads": NUMBERS,
    "--turns": NUMBERS,
    "--draw": NAMES,
    "--task": NAMES,
    "--cell": NUMBERS,
    "--to": NAMES,
    "--port": NUMBERS,
    "--quiet": None,
    "--json": None,
    "--trust": None,
    "--restart": None,
    "--until-solved": None,
    "--best": None,
    "--all": None,
    "--help": None,
    "--nonsense": None,
}
ON_RUNS = ("resume", "show", "verify", "plot", "evaluate", "adapt", "report", "export")
OTHERS = ("train", "compare", "algorithms", "tasks", "check-task", "play", "settings", "bench", "nonsense", "")


def draw_line(rng, victim):
    """A command line that ends soon if it is a good one. `victim` is a copy of a run."""
    command = rng.choice([*ON_RUNS, *OTHERS])
    words = [command] if command else []
    if command in ON_RUNS:
        words.append(rng.choice([str(victim)] * 4 + NAMES))
    elif command in ("train", "check-task", "play", "settings", "tasks"):
        words.append(rng.choice(["point-maze"] * 3 + NAMES))
    elif command == "compare":
        words += ["--out", rng.choice(["matrix", str(victim), *NAMES[:12]]), "--steps", "1", "--seeds", "1"]
        words += ["--tasks", "point-maze", "--algorithms", "map-elites", "--set", "population=2", "initial_policies=2"]
    elif command == "bench":
        return [command, "nonsense", *_options(rng, 2)]  # a real one takes minutes
    if command == "train":
        words += CHEAP
    if command == "play":
        words += ["--policies", "1"]
    words += _options(rng, rng.randrange(4))
    if command == "train":  # whatever was drawn: small
        words += ["--set", "population=2", "initial_policies=2", "hidden=4"] if rng.random() < 0.7 else []
    if rng.random() < 0.1:
        rng.shuffle(words)
    return [word for word in words if "\x00" not in word]


def _options(rng, number):
    words = []
    for option in rng.sample(list(FLAGS), number):
        words.append(option)
        if FLAGS[option] is not None and rng.random() < 0.95:
            words.append(rng.choice(FLAGS[option]))
    return words


VALUES = [
    *("0", "-1", "1", "2", "3", "0.5", "1.5", "-0.5", "nan", "inf", "-inf", "1e-40", "1e30", "1e31", "1e400", "9" * 30),
    *("2147483647", "2147483648", "0,0", "1,1", "-3,3", "1,2,3", "x", "true", "null", "[]", "{}", '"x"', "3e-4", "16"),
]


def setting_names(config, prefix=""):
    """The full names of all settings of a configuration."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from setting_names(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}"


def draw_settings(rng, names):
    """One to three settings with drawn values."""
    chosen = rng.sample(sorted(names), rng.choice([1, 1, 2, 3]))
    return [f"{name}={rng.choice(VALUES)}" for name in chosen]
