"""Weights & Biases and MLflow, each writing to files: nothing here needs a network.

They are heavy and change often, so they are not among the exact versions that tests install; with `pip install
qdpg[track]` these tests run.
"""

import json
import struct
import sys

import pytest

import qdpg
from qdpg.callbacks import CallbackError, MLflowTracker, WandbTracker
from qdpg.runs.ties import find_problems
from qdpg.runs.tracking import finite_numbers

SMALL = {"population": 5, "initial_policies": 5, "hidden": (8, 8)}
WHY = "comes with the extra `track`"


def train_in_two(out, make):
    """A run that is tracked, stopped and tracked on."""
    run = qdpg.train("point-maze", "map-elites", 3000, out=out, callbacks=[make()], **SMALL)
    place = json.loads((out / "tracked.json").read_text())
    run = run.resume(6000, [make()])
    assert json.loads((out / "tracked.json").read_text()) == place, "in the same place"
    assert not find_problems(run.path, run.ties)
    return run, place


@pytest.mark.filterwarnings("ignore")
def test_mlflow_gets_settings_and_every_row(tmp_path):
    mlflow = pytest.importorskip("mlflow", reason=WHY)
    uri = f"sqlite:///{tmp_path / 'store.db'}"
    run, place = train_in_two(tmp_path / "run", lambda: MLflowTracker("mazes", uri))
    client = mlflow.MlflowClient(uri)
    found = client.get_run(place["mlflow"])
    assert found.info.status == "FINISHED"
    assert found.data.params["config.population"] == "5"
    assert found.data.params["task"] == "point-maze"
    history = client.get_metric_history(place["mlflow"], "train/qd_score")
    assert [each.step for each in history] == run.metrics()["steps"].tolist()
    assert [each.value for each in history] == run.metrics()["qd_score"].tolist()
    looked = client.get_metric_history(place["mlflow"], "evaluation/best_fitness")
    assert [each.value for each in looked] == run.evaluations()["best_fitness"].tolist()


def read_records(path):
    """The records in a file of W&B, whose own reader comes and goes: LevelDB's log format, after seven bytes."""
    data, at, parts, block = path.read_bytes(), 7, [], 2**15
    while at + 7 <= len(data):
        length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        if block - at % block < 7 or kind == 0:  # the rest of the block is empty
            at += block - at % block
            continue
        parts.append(data[at + 7 : at + 7 + length])
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield b"".join(parts)
            parts = []


@pytest.mark.filterwarnings("ignore")
def test_wandb_gets_settings_and_every_row(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason=WHY)
    from wandb.proto import wandb_internal_pb2

    monkeypatch.setenv("WANDB_SILENT", "true")
    run, place = train_in_two(tmp_path / "run", lambda: WandbTracker(project="mazes", mode="offline", dir=tmp_path))
    rows, settings = [], {}
    for path in sorted((tmp_path / "wandb").glob("offline-run-*/*.wandb")):
        for data in read_records(path):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            for item in record.run.config.update:
                settings[item.key] = json.loads(item.value_json)
            if record.history.item:
                rows.append({"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in record.history.item})
        assert place["wandb"] in path.parent.name
    sent = {row["steps"]: row["train/qd_score"] for row in rows if "train/qd_score" in row}
    assert sent == dict(zip(run.metrics()["steps"], run.metrics()["qd_score"], strict=True))
    assert any("evaluation/best_fitness" in row for row in rows)
    assert settings["config"]["population"] == 5


@pytest.mark.parametrize(("make", "name"), [(WandbTracker, "wandb"), (MLflowTracker, "mlflow")])
def test_without_the_library_one_sentence_says_what_to_install(make, name, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CallbackError, match=rf"failed in on_start: .*{name} is not installed.*qdpg\[track\]"):
        qdpg.train("point-maze", "map-elites", 3000, out=tmp_path / "run", callbacks=[make()], **SMALL)
    assert not (tmp_path / "run").exists(), "the same call shall do once it is installed"


def test_only_finite_numbers_are_sent():
    row = {"a": 1, "b": float("nan"), "c": "", "d": float("inf"), "e": 2.5, "f": "x"}
    assert finite_numbers("train", row) == {"train/a": 1.0, "train/e": 2.5}
