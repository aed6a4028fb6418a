"""Episodes on Ray against episodes in one process, on the same cores of this machine; and what a generation costs.

    python benchmarks/on_ray.py [--turns 5] [--trap-steps 1000] [--maze-steps 300] [--json]

Contestants take turns, and the best turn of each counts: compare ratios, not seconds. On a busy machine the seconds of
CPU say more, which depend less on who else is at work; those of Ray's own processes are counted. (Not `ray.py`: a
script of that name would be imported in the place of Ray.)
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
import psutil

from qdpg.cluster.connect import connected
from qdpg.cluster.engine import RayEngine
from qdpg.learn.es import Perturbations, Source
from qdpg.learn.networks import MLP, init_population, take_policies
from qdpg.learn.normaliser import no_stats
from qdpg.play.acting import Noise
from qdpg.play.judging import judge, split
from qdpg.play.player import make_player
from qdpg.play.ray_player import RayPlayer
from qdpg.tasks.registry import make_task
from qdpg.tasks.task import Task

HIDDEN = (256, 256)  # of the paper's policies
NOISE = Noise(0.01)


def policies_for(task: Task, number: int) -> MLP:
    sizes = (task.spec.observation_size, *HIDDEN, task.spec.action_size)
    return take_policies(init_population(jax.random.key(0), number, sizes), slice(None))


def perturbations_for(task: Task) -> Perturbations:
    return Perturbations(policies_for(task, 1), 0.02, Source(0, 1), no_stats(task.spec.observation_size))


def bytes_of(what: Any) -> int:
    """Bytes that travel, arrays included."""
    from ray import cloudpickle

    buffers: list[Any] = []
    text = cloudpickle.dumps(what, protocol=5, buffer_callback=buffers.append)
    return len(text) + sum(buffer.raw().nbytes for buffer in buffers)


class Best(NamedTuple):
    """The least that a contestant took."""

    seconds: float
    cpu: float  # seconds, of all processes


def cpu_seconds() -> float:
    """Seconds of CPU that this process and those it has started have taken."""
    times = [process.cpu_times() for process in (psutil.Process(), *psutil.Process().children(recursive=True))]
    return sum(each.user + each.system for each in times)


def race(contestants: Mapping[str, Callable[[], Any]], turns: int) -> dict[str, Best]:
    """Run all contestants once to warm up, then `turns` times in alternation."""
    for run in contestants.values():
        run()
    found: dict[str, list[Best]] = {name: [] for name in contestants}
    for _ in range(turns):
        for name, run in contestants.items():
            cpu, began = cpu_seconds(), time.perf_counter()
            run()
            found[name].append(Best(time.perf_counter() - began, cpu_seconds() - cpu))
    return {name: Best(*map(min, zip(*each, strict=True))) for name, each in found.items()}


def compare(best: Mapping[str, Best], steps: int) -> dict[str, float]:
    """What both came to in playing `steps`; ratios are above one where Ray is better."""
    local, ray = best["local"], best["ray"]
    return {
        "steps": steps,
        "steps_per_s_local": steps / local.seconds,
        "steps_per_s_ray": steps / ray.seconds,
        "ratio": local.seconds / ray.seconds,
        "cpu_ms_per_step_local": 1e3 * local.cpu / steps,
        "cpu_ms_per_step_ray": 1e3 * ray.cpu / steps,
        "cpu_ratio": local.cpu / ray.cpu,
    }


def measure_population(ray: Any, turns: int, steps: int, number: int = 20) -> dict[str, float]:
    """A generation as QD-PG plays it: everything is recorded and comes back."""
    task = make_task("ant-trap", horizon=steps)
    local, remote = make_player(task), RayPlayer(ray, task)
    population, seeds = policies_for(task, number), np.arange(number)
    best = race({"local": lambda: local.play(population, seeds), "ray": lambda: remote.play(population, seeds)}, turns)
    played = remote.play(population, seeds)
    remote.close()
    return compare(best, played.steps) | {
        "bytes_out": bytes_of((population, seeds)),
        "bytes_back_per_step": bytes_of(played) / played.steps,
    }


def measure_perturbations(ray: Any, turns: int, steps: int, number: int = 200, chunk: int = 20) -> dict[str, float]:
    """An update of ME-ES: one policy goes out, what episodes came to comes back."""
    task = make_task("ant-maze", horizon=steps)
    local, remote = make_player(task), RayPlayer(ray, task)
    rule, seeds = perturbations_for(task), np.repeat(np.arange(number // 2), 2)
    best = race(
        {
            name: lambda player=player: list(judge(player, rule, seeds, noise=NOISE, chunk=chunk))  # type: ignore[misc]
            for name, player in (("local", local), ("ray", remote))
        },
        turns,
    )
    parts = list(judge(remote, rule, seeds, noise=NOISE, chunk=chunk))
    played = sum(part.steps for part in parts)
    remote.close()
    jobs = [(rows, seeds[rows], NOISE) for rows in split(number, chunk)]
    return compare(best, played) | {
        "bytes_out": bytes_of(rule) + sum(bytes_of(job) for job in jobs),
        "bytes_back": sum(bytes_of(part) for part in parts),
        "bytes_if_policies_were_sent": number * bytes_of(rule.centre),
    }


def measure_overhead(ray: Any, turns: int) -> dict[str, float]:
    """Milliseconds of episodes of one step, which hardly take any: what is left is the cost of asking."""
    task = make_task("ant-trap", horizon=1)
    local, remote = make_player(task), RayPlayer(ray, task)
    few, many = policies_for(task, 2), policies_for(task, 20)
    rule = perturbations_for(task)
    contestants = {
        "generation_of_2": lambda: remote.play(few, np.arange(2)),
        "generation_of_20": lambda: remote.play(many, np.arange(20)),
        "local_generation_of_20": lambda: local.play(many, np.arange(20)),
        "10_tasks": lambda: list(judge(remote, rule, np.arange(100), noise=NOISE, chunk=10)),
        "100_tasks": lambda: list(judge(remote, rule, np.arange(100), noise=NOISE, chunk=1)),
        "local_100_chunks": lambda: list(judge(local, rule, np.arange(100), noise=NOISE, chunk=1)),
        "100_perturbations": lambda: [rule.make(rows) for rows in split(100, 10)],
    }
    best = race(contestants, 4 * turns)
    remote.close()
    return {name: 1e3 * each.seconds for name, each in best.items()}


def show(title: str, values: Mapping[str, float]) -> None:
    print(title)
    for name, value in values.items():
        print(f"  {name:32} {value:,.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--trap-steps", type=int, default=1000, help="length of the episodes of 20 policies")
    parser.add_argument("--maze-steps", type=int, default=300, help="of 200 perturbations, which take the longest")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    turns = options.turns
    results: dict[str, dict[str, float]] = {"load average": {"of the last minute, before": os.getloadavg()[0]}}
    with connected(RayEngine()) as ray:
        for title, measure in {
            "milliseconds of episodes of one step": lambda: measure_overhead(ray, turns),
            "20 policies on ant-trap, recorded": lambda: measure_population(ray, turns, options.trap_steps),
            "200 perturbations on ant-maze": lambda: measure_perturbations(ray, turns, options.maze_steps),
        }.items():
            results[title] = measure()
            if not options.json:
                show(title, results[title])
    results["load average"]["after"] = os.getloadavg()[0]
    if options.json:
        print(json.dumps(results))
    else:
        show("load average", results["load average"])


if __name__ == "__main__":
    main()
