"""Golden digests: what every algorithm, with every preset, on every task of the paper does in its first generations.

A digest covers all that was played (seeds, noise, actions, rewards, descriptors) and all that is remembered of it
(elites, replay memory). Critics show in what is played later. It does not cover how a state is laid out, so that code
can be moved without touching it.

`python tests/algorithms/golden.py` writes `golden.json` anew; `--only PREFIX` only the cases that begin so.
Every digest is there twice: as a hash of all bits, and as a sketch of a few numbers. The sketch decides: to a
thousandth where processor and libraries are those that wrote it, which still leaves room for what neither of them
names, such as caches that say in what order a sum is taken; to 5 % elsewhere. `--check` tells of hashes too.
"""

import argparse
import functools
import hashlib
import json
import platform
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import numpy as np

from qdpg.algorithms import dc_qd_pg
from qdpg.algorithms.algorithm import TriesOut
from qdpg.algorithms.registry import ALGORITHMS, make_algorithm, make_config
from qdpg.compiled import cache_compiled_programs
from qdpg.play.player import make_player
from qdpg.tasks.registry import make_task

PATH = Path(__file__).with_suffix(".json")
TASKS = ("point-maze", "ant-maze", "ant-trap")
GENERATIONS = 4
SAME_MACHINE, ANOTHER_MACHINE = 1e-3, 0.05  # by what share a sketch may differ
HORIZON = 24

SMALL = {
    "hidden": (8, 8),
    "batch_size": 8,
    "replay_size": 2_000,
    "initial_policies": 6,
    "visited_size": 60,
    "start_steps": 50,
    "warm_up_steps": 100,
    "roll_in_steps": 8,
    "stored_steps": 10,
    "critic_steps": 9,
    "greedy_steps": 7,
    "injected": 3,
    "population": 12,
    "navigation_fields": 5,
    "bonus_hidden": (8,),
    "embedding": 4,
    "adversary_hidden": (8,),
    "skills": 4,
    "skills_at_once": 2,
    "pairs": 4,
    "evaluations": 2,
    "chunk": 100,
    "learners": 2,
    "climbers": 4,
    "minibatches": 2,
    "block": 2,
}
"""Sizes that make a case quick, for settings that are switched on and are larger."""


def shrink(config):
    """The settings of `SMALL` that this algorithm has and that are switched on; they may only become smaller."""
    changes = {}
    for name, small in SMALL.items():
        value = getattr(config, name, None)
        if not value:
            continue
        changes[name] = small if isinstance(value, tuple) else min(value, small)
    return changes


def case_names():
    """All cases, as algorithm/preset/task."""
    return [f"{a}/{p}/{t}" for a, entry in ALGORITHMS.items() for p in sorted(entry.family.presets) for t in TASKS]


@mock.patch.object(dc_qd_pg, "WARM_UP_EPISODES", 3)
def play_case(name):
    """What is remembered of each generation of a case, and finally of its memories: names and arrays."""
    found = []
    algorithm, preset, task_name = name.split("/")
    # Without the observations that are always zero both ants are of one size and share compiled programs; `tuned` keeps
    # them, because some of its algorithms must leave them out.
    options = {"contact": "left-out"} if (task_name, preset) == ("ant-trap", "paper") else {}
    task = make_task(task_name, horizon=HORIZON, **options)
    config = make_config(algorithm, preset, task_name, {})
    config = make_config(algorithm, preset, task_name, shrink(config))
    learner, player = make_algorithm(algorithm, task.spec, config, seed=5), make_player(task)
    if isinstance(learner, TriesOut):
        learner.player = player
    for number in range(GENERATIONS):
        generation = learner.ask()
        rollouts = generation.play(player)
        learner.tell(generation, rollouts)
        for field in ("seeds", "noise", "lengths", "rewards", "descriptors", "actions"):
            array = getattr(rollouts, field)
            if array is not None:
                found.append((f"{number}/{field}", array))
    data = learner.elites.data()
    for field in ("index", "solution", "objective", "measures", "seed", "generation"):
        found.append((f"elites/{field}", data[field]))
    if learner.replay is not None:
        found += [("replay/rows", learner.replay.rows), ("replay/descriptors", learner.replay.descriptors)]
    if ALGORITHMS[algorithm].diversity_gradient and hasattr(learner, "visited"):
        found.append(("visited", learner.visited.descriptors))
    return found


def digest(name):
    """The digest of a case: its hash, and its sketch by name of array."""
    hashed, sketch = hashlib.sha256(), {}
    for field, array in play_case(name):
        array = np.ascontiguousarray(array)
        hashed.update(f"{field} {array.shape} {array.dtype}".encode() + array.tobytes())
        flat = array.astype(np.float64).ravel()
        # Projections on fixed waves: a number in another place, or of another size, shows.
        place = np.arange(1, flat.size + 1)
        sketch[field] = [flat.size, float(flat @ np.cos(place)), float(np.abs(flat).sum())]
    return {
        "machine": machine(),
        "hash": hashed.hexdigest()[:16],
        "sketch": {k: [v[0], *(float(f"{x:.7g}") for x in v[1:])] for k, v in sketch.items()},
    }


def find_difference(found, recorded):
    """Where a digest differs from the recorded one by more than rounding, which grows on the way; None if nowhere."""
    if found["hash"] == recorded["hash"]:
        return None
    if found["sketch"].keys() != recorded["sketch"].keys():
        return "what there is"
    slack = SAME_MACHINE if found["machine"] == recorded["machine"] else ANOTHER_MACHINE
    for field, (size, *numbers) in recorded["sketch"].items():
        least = slack * abs(numbers[-1]) + 1e-3
        if found["sketch"][field][0] != size or not np.allclose(found["sketch"][field][1:], numbers, 0.0, least):
            return field
    return None


@functools.cache
def machine():
    """What bits depend on: the processor and the libraries that compute."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else platform.processor()
    flags = next((line for line in flags.splitlines() if line.startswith("flags")), flags)
    versions = [version(name) for name in ("jax", "jaxlib", "mujoco", "numpy", "numba", "scipy", "ribs")]
    return hashlib.sha256(json.dumps([platform.machine(), flags, versions]).encode()).hexdigest()[:16]


def main():
    """Write the digests of all cases, or of some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="write only the cases that begin so")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    cache_compiled_programs()
    held = json.loads(PATH.read_text())["cases"] if PATH.exists() else {}
    for name in case_names():
        if name.startswith(arguments.only):
            found = digest(name)
            if arguments.check:
                difference = find_difference(found, held[name]) if name in held else "everything"
                alike = "same" if found["hash"] == held.get(name, found)["hash"] else "same but for rounding"
                print(name, f"DIFFERENT in {difference}" if difference else alike, flush=True)
            held[name] = found
    if not arguments.check:
        print(f"{len(held)} cases", flush=True)
        cases = {name: held[name] for name in case_names() if name in held}
        PATH.write_text(json.dumps({"cases": cases}, indent=0) + "\n")


if __name__ == "__main__":
    main()
