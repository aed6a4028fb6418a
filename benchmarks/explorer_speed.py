"""How long the explorer takes to open a large archive, and to answer.

    python benchmarks/explorer_speed.py --side 100

The archive has side x side cells, all filled: policies are random and behaviours made up, since only numbers of cells
matter here. With Chromium installed, the time until the page shows its controls is measured too.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import jax
import numpy as np

from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.explorer.app import Explorer, load_runs
from qdpg.explorer.guard import start_server
from qdpg.learn.networks import init_population
from qdpg.memory.elites import Elites
from qdpg.play.rollouts import make_rollouts
from qdpg.runs.collection_files import write_collection
from qdpg.runs.run import RunConfig, create_run
from qdpg.tasks.registry import make_task


def make_full_run(path: Path, side: int) -> None:
    task, number = make_task("point-maze"), side * side
    config = config_to_json(make_config("map-elites", "tuned", "point-maze", {}))
    create_run(path, RunConfig("point-maze", {}, "map-elites", "tuned", config, 0, 1000))
    population = init_population(jax.random.key(0), number, (2, 64, 32, 2))
    middles = (np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2) + 0.5) / side * 2 - 1
    played = make_rollouts(
        task.spec,
        seeds=np.arange(number),
        lengths=np.full(number, 1),
        terminated=np.zeros(number, bool),
        rewards=-np.linalg.norm(middles - task.goal, axis=1)[:, None].astype(np.float32),  # type: ignore[attr-defined]
        descriptors=np.repeat(middles[:, None], 2, axis=1).astype(np.float32),
        observations=None,
        actions=None,
    )
    elites = Elites(task.spec, jax.tree.map(lambda leaf: leaf[0], population), (side, side))
    elites.add(population, played, 1)
    about = {"task": "point-maze", "task_options": {}, "algorithm": "map-elites", "seed": 0, "steps": 1000}
    about |= {"noise_correlation": 0.0, "cells": (side, side), "archive_seed": 0}
    write_collection(path / "elites", elites, about)


def measure(path: Path) -> dict[str, float]:
    times, begun, used = {}, time.perf_counter(), time.process_time()
    explorer = Explorer(start_server("127.0.0.1", 0, None), load_runs([path]))
    times["server ready, s"] = time.perf_counter() - begun
    times["server ready, CPU s"] = time.process_time() - used  # what it would take on a machine that does nothing else
    try:
        if shutil.which("chromium"):
            times |= _in_browser(explorer)
        for name, what in (("select an elite, s", lambda: explorer.select(5)), ("colour all cells, s", explorer.paint)):
            begun = time.perf_counter()
            what()
            times[name] = time.perf_counter() - begun
        used = time.process_time()
        time.sleep(10)
        times["CPU while idle, %"] = 10 * (time.process_time() - used)
    finally:
        explorer.close()
    return times | {"elites": len(explorer.elites)}


def _in_browser(explorer: Explorer) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    software = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=software)
        page = browser.new_page(viewport={"width": 800, "height": 500})
        begun = time.perf_counter()
        page.goto(f"http://127.0.0.1:{explorer.server.get_port()}/")
        page.wait_for_selector("text=ribbons", timeout=120_000)
        shown = time.perf_counter() - begun
        browser.close()
    return {"page shows its controls, s": shown}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=100)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run"
        make_full_run(path, asked.side)
        print(json.dumps({name: round(value, 3) for name, value in measure(path).items()}))


if __name__ == "__main__":
    main()
