"""Attacks with words: command lines and settings."""

import os
import random

import damage
import words
from victims import serve


def command_line(arena, seed, number):
    """A drawn command line: it does something, or says in one sentence why not."""
    rng = random.Random(f"command line {seed} {number}")
    copy = arena.fresh("map-elites")
    line = words.draw_line(rng, damage.COPY)
    try:
        [word.encode() for word in line]
    except UnicodeEncodeError:
        line = [os.fsencode(word.encode("utf-8", "surrogateescape")).decode(errors="surrogateescape") for word in line]
    done = (serve if words.may_serve(line) else arena.run)(*line, cwd=copy.parent)
    faults = [f"{fault}: {done}"] if (fault := done.fault()) else []
    if not arena.is_unharmed():
        faults.append(f"something outside was changed: {done}")
    return 1, faults


# Whatever is not drawn is small.
SMALL = {
    "population": "4",
    "initial_policies": "4",
    "hidden": "8,8",
    "task.horizon": "20",
    "batch_size": "16",
    "gradient_steps_ratio": "0.1",
    "replay_size": "1000",
    "pairs": "4",
    "evaluations": "2",
    "start_steps": "10",
    "greedy_steps": "2",
    "critic_steps": "2",
    "warm_up_steps": "0",
    "chunk": "8",
    "epochs": "1",
}


def settings(arena, seed, number):
    """Drawn settings of any algorithm: refused before anything is made, or trained."""
    from qdpg.algorithms.registry import ALGORITHMS as ALL
    from qdpg.algorithms.registry import make_config

    rng = random.Random(f"settings {seed} {number}")
    algorithm = rng.choice([*ALL, *arena.algorithms, "map-elites", "map-elites"])
    names = list(words.setting_names(make_config(algorithm, "tuned", "point-maze", {})))
    drawn = words.draw_settings(rng, [*names, "task.horizon", "task.goal"])
    known = {pair.partition("=")[0] for pair in drawn}
    usual = [f"{k}={v}" for k, v in SMALL.items() if (k in names or k.startswith("task.")) and k not in known]
    stage = arena.stage()
    line = ["train", "point-maze", "--algorithm", algorithm, "--steps", "40", "--evaluate-seconds", "0", "--out", "run"]
    done = arena.run(*line, "--quiet", "--set", *usual, *drawn, cwd=stage)
    faults = [f"{fault}: {done}"] if (fault := done.fault({0, 2, 3})) else []
    if done.code == 2 and (left := list(stage.rglob("*"))):
        faults.append(f"refused, but left {left}: {done}")
    return 1, faults
