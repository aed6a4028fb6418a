"""Fixtures that train small runs."""

import dataclasses

import pytest
from small_runs import SMALL, Silent

from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.runs.run import RunConfig, create_run
from qdpg.runs.train import Trainer


@pytest.fixture(scope="session")
def small_config():
    """The configuration of a small run."""
    settings = config_to_json(make_config("qd-pg", "tuned", "point-maze", SMALL))
    return RunConfig("point-maze", {"horizon": 40}, "qd-pg", "tuned", settings, seed=3, steps=2000)


@pytest.fixture
def config(small_config):
    """The same, by a shorter name."""
    return small_config


@pytest.fixture
def train(config):
    """Train in a directory; keyword arguments change the configuration."""

    def go(path, stop=lambda: False, checkpoint_seconds=1e9, **changes):
        run = create_run(path, dataclasses.replace(config, **changes))
        trainer = Trainer(run, Silent(), checkpoint_seconds)
        trainer.train(stop)
        return trainer

    return go
