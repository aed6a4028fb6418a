"""`qdpg adapt` as a user meets it."""

import csv
import json

import numpy as np
import pytest
from PIL import Image

from qdpg.cli import adapt
from qdpg.cli.train import run_train
from qdpg.errors import UserError
from qdpg.report.words import number
from unsealed import unseal

FILES = ["adapt.csv", "adapt.json", "performance-map.png", "trials.png"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of a few thousand steps."""
    path = tmp_path_factory.mktemp("adapt") / "run"
    settings = ["population=20", "initial_policies=60", "hidden=8,8", "cells=8,8"]
    run_train("point-maze", "map-elites", "tuned", 30_000, 0, path, settings, False, 1e9, 0.0, quiet=True)
    return path


def go(path, trials=5, goals=8, seed=0, starts="fresh", out=None, settings=(), as_json=False, quiet=True):
    return adapt.run(path, trials, goals, seed, starts, out, settings, as_json, quiet)


def shown(out):
    """The heading and the rows of the printed table, put together where a cell takes several lines."""
    lines = [line.replace("┃", "│").split("│")[1:-1] for line in out.splitlines() if "│" in line or "┃" in line]
    cells = [[cell.strip() for cell in line] for line in lines]
    heading = cells[: next(n for n, line in enumerate(cells) if line[1][-1:].isdigit())]
    rows = []
    for line in cells[len(heading) :]:
        if line[1]:
            rows.append([])
        rows[-1].append(line)
    return [[" ".join(filter(None, parts)) for parts in zip(*each, strict=True)] for each in (heading, *rows)]


def test_writes_tables_and_figures_and_says_what_came_of_it(trained, tmp_path, capsys):
    assert go(trained, out=tmp_path / "out", quiet=False) == 0
    out = capsys.readouterr().out
    for word in ("8 goals", str(tmp_path / "out")):
        assert word in out
    assert max(map(len, out.splitlines()[:-1])) <= 80
    heading, *rows = shown(out)
    assert heading == [
        "elite found by",
        "episodes",
        "played again",
        "fresh starts",
        "std",
        "median",
        "gap",
        "stored starts, optimistic",
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    result = json.loads((tmp_path / "out" / "adapt.json").read_text())
    with (tmp_path / "out" / "adapt.csv").open(newline="") as file:
        goals = [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    assert goals == result["experiments"]
    assert (result["goals"], result["trials"], result["run"]["algorithm"]) == (8, 5, "map-elites")
    assert (result["starts"], result["other_starts"]["starts"]) == ("fresh", "own")
    words = ("Bayesian optimisation", "random choice", "exhaustive search")
    for name, label, row in zip(("bayesian", "random", "exhaustive"), words, rows, strict=True):
        for scores, column in ((result["scores"][name], name), (result["again"][name], f"{name}_again")):
            assert scores["mean"] == pytest.approx(np.mean([goal[column] for goal in goals]))
            assert scores["median"] == pytest.approx(np.median([goal[column] for goal in goals]))
        assert row[0] == label
        assert row[2] == number(result["again"][name]["mean"])
        assert row[3:6] == [number(result["scores"][name][key]) for key in ("mean", "std", "median")]
        assert row[7] == number(result["other_starts"]["scores"][name]["mean"])
    gap = result["scores"]["exhaustive"]["mean"] - result["scores"]["bayesian"]["mean"]
    assert result["shortfall"]["bayesian"] == pytest.approx(gap / abs(result["scores"]["exhaustive"]["mean"]))


def test_json_is_one_object_and_the_same_every_time(trained, capsys):
    assert go(trained, as_json=True, quiet=False) == 0
    printed = capsys.readouterr().out
    files = {name: (trained / "adapt" / name).read_bytes() for name in FILES}
    assert json.loads(printed) == json.loads(files["adapt.json"])
    assert go(trained) == 0
    assert capsys.readouterr().out == ""
    assert {name: (trained / "adapt" / name).read_bytes() for name in FILES} == files
    assert go(trained, seed=1, settings=["acquisition=ei", "nu=1.5"]) == 0
    changed = json.loads((trained / "adapt" / "adapt.json").read_text())
    assert (changed["settings"]["acquisition"], changed["settings"]["nu"]) == ("ei", 1.5)
    assert changed["experiments"] != json.loads(printed)["experiments"]


def test_either_starts_come_first_and_both_are_reported(trained, tmp_path, capsys):
    go(trained, out=tmp_path / "fresh")
    go(trained, out=tmp_path / "own", starts="own", quiet=False)
    heading = shown(capsys.readouterr().out)[0]
    assert (heading[3], heading[7]) == ("stored starts, optimistic", "fresh starts")
    fresh, own = (json.loads((tmp_path / name / "adapt.json").read_text()) for name in ("fresh", "own"))
    for one, two in ((fresh, own), (own, fresh)):
        assert one["other_starts"] == {"starts": two["starts"], "scores": two["scores"]}
    assert own["scores"] != fresh["scores"]


def test_figures_are_pictures(trained, tmp_path):
    go(trained, out=tmp_path)
    with Image.open(tmp_path / "performance-map.png") as image:
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3).astype(int)
    for colour in ([253, 231, 37], [68, 1, 84]):  # the best and the worst goal
        assert (np.abs(pixels - colour).max(axis=1) < 4).mean() > 0.001
    with Image.open(tmp_path / "trials.png") as image:
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3).astype(int)
    for colour in ([0, 114, 178], [213, 94, 0], [0, 158, 115]):  # the three curves
        assert (np.abs(pixels - colour).max(axis=1) < 4).mean() > 0.0005


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"trials": 1000}, r"too few for 1000 trials; train longer, or ask for fewer\."),
        ({"trials": 0}, "--trials is 0"),
        ({"goals": 0}, "--goals is 0"),
        ({"seed": -1}, "--seed is -1"),
        ({"settings": ["kapa=2"]}, r"the adaptation has no option 'kapa'; did you mean 'kappa'\?"),
        ({"settings": ["acquisition=luck"]}, "option 'acquisition' of the adaptation must be"),
        ({"settings": ["kappa=-2"]}, "kappa.* must be at least 0"),
    ],
)
def test_bad_requests_are_one_clear_sentence_and_write_nothing(trained, tmp_path, changes, sentence):
    with pytest.raises(UserError, match=sentence):
        go(trained, out=tmp_path / "out", **changes)
    assert not (tmp_path / "out").exists()


def test_runs_that_cannot_be_adapted_are_one_clear_sentence(trained, tmp_path):
    with pytest.raises(UserError, match="is not a run"):
        go(tmp_path)
    for name in ("config.json", "manifest.json"):
        (tmp_path / name).write_text((trained / name).read_text())
    with pytest.raises(UserError, match=r"elites\.safetensors is missing"):
        go(tmp_path)
    unseal(tmp_path)
    (tmp_path / "config.json").write_text((tmp_path / "config.json").read_text().replace("point-maze", "ant-trap"))
    with pytest.raises(UserError, match="ant-trap has no goal that can be moved"):
        go(tmp_path)


def test_it_is_said_when_results_cannot_be_written(trained, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="is in the way"):
        go(trained, out=tmp_path / "file")
