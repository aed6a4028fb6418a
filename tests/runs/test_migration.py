"""Runs of format 1, the one before emitters: small ones in `format_1/`, and the committed collections."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from small_runs import Silent

from processes import qdpg
from qdpg.algorithms.registry import config_from_json, make_config
from qdpg.errors import UserError
from qdpg.memory.reevaluated import ArchiveSettings
from qdpg.runs.migration import migrate_config
from qdpg.runs.run import load_run
from qdpg.runs.train import Trainer

OLD = Path(__file__).parent / "format_1"
COLLECTIONS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture
def old(tmp_path):
    """A copy of an old run, by name."""

    def copy(name):
        shutil.copytree(OLD / name, tmp_path / name)
        return load_run(tmp_path / name)

    return copy


# What the presets of dc-qd-pg had when the committed collections were made, where they have something else today.
THEN = {
    "ant-trap/seed-2": {
        "population": 12,
        "direction_fields": 5,
        "navigation_fields": 0,
        "unit_directions": False,
        "symmetry_augmentation": False,
        "reward_share": 1.0,
        "iso_line.share": 1 / 6,
    },
    "ant-maze/seed-0": {},
}


@pytest.mark.parametrize("path", THEN)
def test_committed_collections_have_the_settings_that_dc_qd_pg_had_then(path):
    run = load_run(COLLECTIONS / path)
    assert run.config["algorithm"] == "dc-qd-pg"
    config = config_from_json("dc-qd-pg", run.config["config"])
    today = make_config("dc-qd-pg", "tuned", run.config["task"], THEN[path])
    assert config == replace(today, archive=ArchiveSettings())
    assert len(run.elites) == {"ant-trap/seed-2": 104, "ant-maze/seed-0": 76}[path]


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "name", [pytest.param("qd-pg", marks=SLOW), pytest.param("directed", marks=SLOW), "map-elites"]
)
def test_old_runs_go_on(old, name):
    run = old(name)
    trainer = Trainer(run, Silent())
    before, told = trainer.algorithm.generation, len(trainer.algorithm.elites)
    assert trainer.algorithm.steps >= 900
    assert told == len(run.elites)
    trainer.settings = replace(trainer.settings, steps=trainer.algorithm.steps + 1)
    trainer.train()
    assert trainer.algorithm.generation == before + 1
    assert qdpg("verify", run.path).returncode == 0


def test_the_directed_run_keeps_its_direction_fields(old):
    elites = Trainer(old("directed"), Silent()).algorithm.elites.data()
    assert elites["direction_field"].any()


@pytest.mark.parametrize("command", ["show", "verify", "plot"])
def test_old_runs_are_opened(old, command):
    for name in ("directed", "sum"):
        assert qdpg(command, old(name).path).returncode == 0


def test_what_cannot_go_on_says_so_and_stays_as_it_is(old):
    path = old("sum").path
    before = (path / "config.json").read_bytes()
    refused = qdpg("resume", path, "--steps", "1000", "--quiet")
    assert refused.returncode == 2
    assert "climb their sum; revision" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert (path / "config.json").read_bytes() == before


@pytest.mark.parametrize(("setting", "value"), [("starts", 2), ("novelty_deducted", True), ("balance", 2.0)])
def test_settings_that_are_gone_are_named(setting, value):
    data = json.loads((OLD / "qd-pg" / "config.json").read_text())
    data["config"][setting] = value
    _, refusal = migrate_config(data)
    assert f"{setting}={value}" in refusal


def test_a_setting_that_is_missing_is_named():
    data = json.loads((OLD / "qd-pg" / "config.json").read_text())
    del data["config"]["guided"]
    assert "'guided' is missing" in migrate_config(data)[1]


def test_training_settings_of_a_refused_run_are_refused(old):
    with pytest.raises(UserError, match="cannot be trained on"):
        old("sum").settings  # noqa: B018
