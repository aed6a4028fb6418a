"""Command lines and settings, good and bad, drawn from a seed. Commands join when `qdpg` has them."""

import dataclasses
import inspect
import re

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
    *("", " ", ".", "..", "/dev/null", "-", "--", "a[/b]", "[red]x[/red]", "\x1b[31mred", "‮txt"),
    *("=1+1", "@x", "é", "x" * 300),
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
PAIRS = ["0,0", "1,1", "3,4", "-1,-1", "0.5,-0.2", "nan,nan", "1e400,0", "1", "1,2,3", ",", "a,b", "9" * 30 + ",0"]
KINDS_OF_FILES = ["onnx", "npz", "gif", "video", "page.html", "copy", "a/b/page.html", "outside", "/proc/x", ""]
SPECIAL = {  # options whose values are of a kind of their own
    "--set": SETTINGS,
    "--cell": PAIRS,
    "--near": PAIRS,
    "--to": KINDS_OF_FILES,
    "--seeds": [*NUMBERS, "0-", "1,1", "0-99999999"],
    "--engine": ["local", "ray", "x", ""],
    "--address": ["auto", "127.0.0.1:1", "x", "", "a:b:c", ":"],
    "--host": ["127.0.0.1", "localhost", "::1", "256.0.0.1", "x y", "", "example.invalid"],
    "--port": ["0", "-1", "65536", "1e9", "x", ""],
    "--format": ["png", "svg", "pdf", "exe", ""],
    "--steps": ["1", "0", "-1", "nan", "inf", "1e400", "9" * 400, "1.5", "", "many", "1e3", "700", "1_000"],
}
NEVER = ("--open", "--until-solved")  # opens a browser; may train for hours
ON_RUNS = ("resume", "show", "verify", "plot", "evaluate", "adapt", "report", "export", "explore")
NAMED = {"train": "point-maze", "check-task": "point-maze", "play": "point-maze", "tasks": "point-maze"}
SLOW = ("play", "check-task", "adapt")


def commands():
    """Every command that there is, with its options: whether each takes a value, and a number. New ones join."""
    import qdpg.cli.main as cli

    found, source = {}, inspect.getsource(cli)
    functions = [each for each in vars(cli).values() if inspect.isfunction(each) and each.__module__ == cli.__name__]
    for function in functions:
        name = function.__name__.replace("_", "-")
        if f"\n@app.command\ndef {function.__name__}(" not in source and f'(name="{name}")' not in source:
            continue
        parameters = inspect.signature(function, eval_str=True).parameters
        options = {}
        for each, parameter in parameters.items():
            hint = str(parameter.annotation)
            if "Positional" in hint:
                continue
            named = re.search(r"name='([\w-]+)'", hint)
            option = f"--{named[1] if named else each.replace('_', '-')}"
            is_number = any(kind in hint for kind in ("int", "float", "Whole"))
            options[option] = None if "bool" in hint else NUMBERS if is_number and "str" not in hint else NAMES
        found[name] = {o: SPECIAL.get(o, values) for o, values in options.items() if o not in NEVER}
    return found


def draw_line(rng, victim):
    """A command line that ends soon if it is a good one. `victim` is a copy of a run."""
    known = commands()
    usual = [name for name in known if name not in SLOW]
    command = rng.choice([*known, *usual, "nonsense", ""])
    words = [command] if command else []
    if command in ON_RUNS:
        words.append(rng.choice([str(victim)] * 6 + NAMES))
    elif command in NAMED:
        words.append(rng.choice([NAMED[command]] * 3 + NAMES))
    elif command == "settings":
        words.append(rng.choice(["qd-pg", "map-elites", "dc-qd-pg", *NAMES]))
    elif command == "compare":
        words += ["--out", rng.choice(["matrix", str(victim), *NAMES[:12]]), "--steps", "1", "--seeds", "1"]
        words += ["--tasks", "point-maze", "--algorithms", "map-elites", "--set", "population=2", "initial_policies=2"]
        words += ["--evaluate-seconds", "0"]
    elif command == "bench":
        return [command, "nonsense", *_options(rng, known[command], 2)]  # a real one takes minutes
    if command == "train":
        words += CHEAP
    if command == "play":
        words += ["--policies", "1"]
    if command == "adapt":
        words += ["--trials", "1", "--goals", "1"]
    if command == "resume":
        words += ["--evaluate-seconds", "0"]
    if command == "evaluate":
        words += ["--episodes", "2"]
    own = known.get(command, {})
    others = {option: values for each in known.values() for option, values in each.items()} | {"--nonsense": None}
    words += _options(rng, own if own and rng.random() < 0.85 else others, rng.randrange(4))
    if command == "train":  # whatever was drawn: small
        words += ["--set", "population=2", "initial_policies=2", "hidden=4"] if rng.random() < 0.7 else []
    if rng.random() < 0.08:
        rng.shuffle(words)
    if may_serve(words):
        words = [word for word in words if word != "--quiet"]  # its address is how it is found
    return [word for word in words if "\x00" not in word]


def may_serve(line):
    """Whether a command line may be a good one that serves until it is asked to stop."""
    return "explore" in line and "--to" not in line


def _options(rng, known, number):
    words = []
    for option in rng.sample(list(known), min(number, len(known))):
        words.append(option)
        if known[option] is not None and rng.random() < 0.95:
            words.append(rng.choice(known[option]))
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
