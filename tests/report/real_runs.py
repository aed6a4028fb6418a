"""A few small but real runs, trained once per process."""

import functools
import tempfile
from pathlib import Path

from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.evaluation.evaluate import evaluate
from qdpg.runs.run import RunConfig, create_run
from qdpg.runs.train import Trainer

STEPS = 6000  # one evaluation
EVOLUTION = {"population": 10, "initial_policies": 10, "hidden": (8, 8)}
# All steps are played by the random policies at the start: compiling the gradients alone would take half a minute.
GRADIENTS = {"initial_policies": 30, "hidden": (16, 16), "replay_size": 8000, "batch_size": 16}
SETTINGS = {"map-elites": EVOLUTION, "qd-pg": GRADIENTS}


class Silent:
    def update(self, row):
        pass

    def say(self, sentence):
        pass


def train(path, algorithm, seed, steps=STEPS, stop=lambda: False, **options):
    config = config_to_json(make_config(algorithm, "tuned", "point-maze", SETTINGS[algorithm]))
    run = create_run(path, RunConfig("point-maze", options, algorithm, "tuned", config, seed, steps))
    Trainer(run, Silent(), 1e9).train(stop)


@functools.cache
def _trained():
    directory = tempfile.TemporaryDirectory(prefix="qdpg-runs-")
    root = Path(directory.name) / "matrix"
    for algorithm in ("map-elites", "qd-pg"):
        for seed in (0, 1):
            train(root / "point-maze" / algorithm / f"seed-{seed}", algorithm, seed)
            if algorithm == "map-elites":  # the others are reported without
                evaluate(root / "point-maze" / algorithm / f"seed-{seed}", episodes=3)
    train(root / "other" / "short", "map-elites", 0, horizon=50)
    return directory, root


def real_runs():
    """The directory of the runs; whoever changes something copies it first."""
    return _trained()[1]
