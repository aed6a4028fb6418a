"""Small runs to be exported and watched: random policies, played for real, without training."""

import numpy as np

from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.learn.networks import init_population
from qdpg.memory.elites import Elites
from qdpg.play.acting import Noise
from qdpg.play.player import make_player
from qdpg.runs.collection_files import write_collection
from qdpg.runs.run import RunConfig, create_run, load_run
from qdpg.tasks.registry import make_task

SMALL_TASKS = {  # name, options, cells
    "point-maze": ({"horizon": 40}, (5, 5)),
    "ant-maze": ({"horizon": 25}, (280, 280)),
    "ant-trap": ({"horizon": 25, "contact": "left-out"}, (60, 40)),
}
PENDULUM = ("gym:Pendulum-v1", {"descriptor": (0, 1), "low": (-1, -1), "high": (1, 1), "horizon": 30}, (4, 4))


def make_run(path, name="point-maze", options=None, cells=(5, 5), policies=8, noise=0.1, seed=0, **changes):
    """Write a run whose elites are random policies, each with its real episode; return it, loaded."""
    import jax

    task = make_task(name, **(options or {}))
    spec = task.spec
    config = config_to_json(make_config("map-elites", "tuned", "point-maze", {}))
    run = create_run(path, RunConfig(name, dict(options or {}), "map-elites", "tuned", config, seed, 1000))
    sizes = (spec.observation_size, 8, 8, spec.action_size)
    population = init_population(jax.random.key(seed), policies, sizes, **changes)
    seeds = np.arange(policies) + 100
    played = make_player(task).play(population, seeds, noise=Noise(np.full(policies, noise, np.float32), 0.5))
    template = jax.tree.map(lambda leaf: leaf[0], population)
    elites = Elites(spec, template, cells, seed)
    half = policies // 2
    for generation, some in enumerate((slice(half), slice(half, None))):
        elites.add(jax.tree.map(lambda leaf, some=some: leaf[some], population), played.take(some), generation)
    about = {"task": name, "task_options": options or {}, "algorithm": "map-elites", "seed": seed, "steps": 1000}
    about |= {"noise_correlation": 0.5, "cells": cells, "archive_seed": seed, "emitters": ["random", "iso line"]}
    write_collection(path / "elites", elites, about)
    write_logs(path, spec, played)
    return load_run(run.path)


def write_logs(path, spec, played):
    """What training would have written of these episodes: half of them in each of two generations, by two emitters."""
    half = len(played.seeds) // 2
    names = ["generation", "steps", "seed", "fitness", *spec.descriptor_names, "emitter"]
    rows = []
    for n, seed in enumerate(played.seeds):
        late = int(n >= half)
        rows.append([1 + late, 500 * (1 + late), seed, played.fitness[n], *played.behaviours[n], late])
    lines = [",".join(names), *(",".join(repr(float(value)) for value in row) for row in rows)]
    (path / "episodes.csv").write_text("\n".join(lines) + "\n")
    (path / "metrics.csv").write_text(
        "generation,steps,coverage,qd_score,best_fitness\n"
        f"1,500,0.1,10.0,{played.fitness[:half].max()}\n2,1000,0.2,20.0,{played.fitness.max()}\n"
    )
