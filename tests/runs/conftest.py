"""Small but real runs: point-maze with a short horizon, every part of QD-PG at work."""

import dataclasses

import pytest

from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.runs.run import RunConfig, create_run
from qdpg.runs.train import Trainer

SMALL = {
    "population": 4,
    "hidden": (16, 16),
    "replay_size": 700,  # smaller than what is played, so that the ring turns over
    "batch_size": 16,
    "gradient_steps_ratio": 0.25,
    "visited_size": 300,
    "visited_threshold": 0.01,
    "exploration_noise": 0.1,
}


class Silent:
    """A display that remembers what it was told."""

    def __init__(self):
        self.sentences, self.rows = [], []

    def update(self, row):
        self.rows.append(row)

    def say(self, sentence):
        self.sentences.append(sentence)


@pytest.fixture
def config():
    """The configuration of a small run."""
    settings = config_to_json(make_config("qd-pg", "tuned", "point-maze", SMALL))
    return RunConfig("point-maze", {"horizon": 40}, "qd-pg", "tuned", settings, seed=3, steps=2000)


@pytest.fixture
def train(config):
    """Train in a directory; keyword arguments change the configuration."""

    def go(path, stop=lambda: False, checkpoint_seconds=1e9, **changes):
        run = create_run(path, dataclasses.replace(config, **changes))
        trainer = Trainer(run, Silent(), checkpoint_seconds)
        trainer.train(stop)
        return trainer

    return go
