"""Finding and sorting real runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from real_runs import STEPS, real_runs, train

from qdpg.errors import UserError
from qdpg.report.gather import gather
from qdpg.report.overview import list_runs
from unsealed import unseal

pytestmark = [pytest.mark.xdist_group("report")]


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    """A copy of the runs that may be changed."""
    matrix = Path(shutil.copytree(real_runs(), tmp_path / "matrix"))
    for path in matrix.rglob("config.json"):
        unseal(path.parent)
    return matrix


def test_runs_are_sorted_by_task_algorithm_and_seed() -> None:
    findings = gather([real_runs()])
    papers, other = findings.tasks
    assert (papers.title, papers.is_papers) == ("point-maze", True)
    assert (other.title, other.is_papers) == ("point-maze with horizon=50", False)
    assert [variant.label for variant in papers.variants] == ["qd-pg", "map-elites"], "in the registry's order"
    assert [[r.run.config["seed"] for r in variant.results] for variant in papers.variants] == [[0, 1], [0, 1]]
    assert papers.variants[1].changes == {"population": 10, "initial_policies": 10, "hidden": [8, 8]}
    assert {result.name for result in findings.results} >= {"point-maze/qd-pg/seed-0", "other/short"}
    other, first = (variant.results[0] for variant in papers.variants)
    assert first.final == first.run.evaluations()["best_fitness"][-1]
    assert first.best_elite == first.run.elites.fitness.max()
    about = json.loads((first.run.path / "elites" / "evaluated.json").read_text())
    assert first.evaluated_best == about["best"]["mean"]
    assert first.corrected_qd_score == about["corrected"]["qd_score"] != first.qd_score
    assert first.corrected_coverage == about["corrected"]["coverage"] <= first.coverage
    assert first.share_own_cell == about["share_own_cell"]
    names = ("evaluated_best", "corrected_qd_score", "corrected_coverage", "share_own_cell")
    assert np.isnan([getattr(other, name) for name in names]).all(), "not evaluated"
    assert first.peak_memory > 10**8


def test_a_run_given_twice_counts_once(matrix: Path) -> None:
    again = gather([matrix, matrix / "point-maze" / "qd-pg", matrix / "point-maze" / "qd-pg" / "seed-0"])
    assert len(again.results) == 5
    assert not again.twins


def test_copies_of_a_run_do_not_feign_more_seeds(matrix: Path) -> None:
    shutil.copytree(matrix / "other" / "short", matrix / "other" / "copy")
    findings = gather([matrix])
    assert [(left.name, kept.name) for left, kept in findings.twins] == [("other/short", "other/copy")]
    assert [len(variant.results) for variant in findings.tasks[1].variants] == [1]
    states = {row[0]: row[5] for row in list_runs(findings).rows}
    assert states["other/short"] == "left out: same settings and seed as other/copy"


def test_what_differs_in_more_than_the_seed_has_a_row_of_its_own(matrix: Path) -> None:
    def change(path: Path, **changes: object) -> None:
        config = json.loads((path / "config.json").read_text())
        (path / "config.json").write_text(json.dumps(config | changes))

    change(matrix / "point-maze" / "map-elites" / "seed-1", steps=STEPS - 500)
    path = matrix / "point-maze" / "qd-pg" / "seed-1"
    change(path, config=json.loads((path / "config.json").read_text())["config"] | {"batch_size": 17})
    labels = [variant.label for variant in gather([matrix]).tasks[0].variants]
    assert labels == [
        "qd-pg (batch_size=16)",
        "qd-pg (batch_size=17)",
        "map-elites (5,500 steps)",
        "map-elites (6,000 steps)",
    ]


def test_interrupted_runs_are_shown_in_rows_of_their_own(matrix: Path) -> None:
    asked = iter([False, True, True])
    train(matrix / "stopped", "map-elites", 7, stop=lambda: next(asked))
    begun = matrix / "begun"
    begun.mkdir()
    for name in ("config.json", "manifest.json"):
        shutil.copy(matrix / "stopped" / name, begun)
    findings = gather([matrix])
    assert len(findings.results) == 7
    rows = {variant.label: variant for variant in findings.tasks[0].variants}
    assert [result.run.config["seed"] for result in rows["map-elites (not finished)"].results] == [7]
    assert [result.run.config["seed"] for result in rows["map-elites"].results] == [0, 1]
    table = list_runs(findings)
    states = {row[0]: row[5] for row in table.rows}
    assert states["stopped"].startswith("NOT FINISHED, in a row of its own")
    assert states["stopped"].endswith("2,000 of 6,000 steps")
    assert states["begun"] == "NOT FINISHED, left out, nothing was saved: 0 of 6,000 steps"
    assert table.notes == ["2 runs are not finished, and shown as far as they came."]


def test_until_solved_ends_with_the_solution(matrix: Path) -> None:
    path = matrix / "other" / "short"
    config = json.loads((path / "config.json").read_text()) | {"until_solved": True, "steps": 10**6}
    (path / "config.json").write_text(json.dumps(config))
    (row,) = gather([matrix]).tasks[1].variants
    assert not row.is_finished, "neither solved nor at the end"
    lines = (path / "evaluations.csv").read_text().splitlines()
    for looks, is_solved in (((-29.5,), False), ((-29.5, -30.5, -29.5), False), ((-30.5, -29.5, -29.5), True)):
        rows = (f"{6000 * (n + 1)},{n},-40,-50,{mean}" for n, mean in enumerate(looks))
        (path / "evaluations.csv").write_text("\n".join([lines[0], *rows]) + "\n")
        (row,) = gather([matrix]).tasks[1].variants
        assert row.is_finished == is_solved, "solved at two successive looks"


class Plane(gymnasium.Env):
    """Two observations and two actions, as the runs here have."""

    observation_space = action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}


def test_a_task_that_must_be_told_something_has_its_own_section(matrix: Path) -> None:
    gymnasium.register("Plane-v0", Plane, max_episode_steps=50)
    path = matrix / "other" / "short" / "config.json"
    options = {"descriptor": [0, 1], "low": [-1, -1], "high": [1, 1]}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"task": "gym:Plane-v0", "task_options": options}))
    titles = [task.title for task in gather([matrix]).tasks]
    assert titles == ["point-maze", "gym:Plane-v0 with descriptor=0,1, high=1,1, low=-1,-1"]


def test_failures_of_a_comparison_are_told(matrix: Path) -> None:
    failure = {"run": "point-maze/td3/seed-0", "error": "boom", "exit_code": 3, "log": "x.log", "time": "now"}
    (matrix / "failures.json").write_text(json.dumps({"format": 1, "failures": [failure]}))
    (matrix / "compare.json").write_text(json.dumps({"format": 1, "tasks": ["point-maze"], "steps": STEPS}))
    findings = gather([matrix])
    assert findings.failures == (("point-maze/td3/seed-0", "boom"),)
    assert findings.comparisons[0]["steps"] == STEPS
    (matrix / "failures.json").write_text("[]")
    with pytest.raises(UserError, match=r"failures\.json is damaged"):
        gather([matrix])


def damage(path: Path, what: str) -> None:
    log = path / "metrics.csv"
    lines = log.read_text().splitlines(keepends=True)
    if what == "missing":
        log.unlink()
    elif what == "empty":
        log.write_text("")
    elif what == "words":
        log.write_text(lines[0] + "some,words\n")
    elif what == "binary":
        log.write_bytes(b"\xff\xfe\x00" * 50)
    elif what == "column":
        log.write_text(lines[0].replace("coverage", "average") + "".join(lines[1:]))
    elif what == "order":
        log.write_text("".join([lines[0], *reversed(lines[1:])]))
    elif what == "evaluations":
        (path / "evaluations.csv").unlink()
    elif what == "episodes":
        (path / "episodes.csv").unlink()
    elif what == "elites":
        (path / "elites" / "elites.safetensors").write_bytes(b"damaged")
    elif what == "config":
        (path / "config.json").write_text("{")
    elif what == "task":
        (path / "config.json").write_text((path / "config.json").read_text().replace("point-maze", "pond-maze"))


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("missing", r"metrics\.csv is missing"),
        ("empty", r"metrics\.csv is missing or empty"),
        ("words", r"metrics\.csv is not a table of numbers"),
        ("binary", r"metrics\.csv is (not a table|missing)"),
        ("column", r"metrics\.csv is damaged: it has no column 'coverage'"),
        ("order", r"metrics\.csv is damaged: its steps do not ascend"),
        ("evaluations", r"evaluations\.csv is missing"),
        ("config", r"cannot be read: .*config\.json is damaged"),
        ("task", r"cannot be read: there is no task 'pond-maze'"),
        ("episodes", r"episodes\.csv is missing"),
        ("elites", r"elites\.safetensors"),
    ],
)
def test_a_damaged_run_is_told_and_does_not_stop_the_others(matrix: Path, what: str, sentence: str) -> None:
    damage(matrix / "point-maze" / "map-elites" / "seed-1", what)
    findings = gather([matrix])
    (failure,) = findings.failures
    assert failure.run == "point-maze/map-elites/seed-1"
    assert re.search(sentence, failure.error)
    assert "\n" not in failure.error
    rows = {variant.label: len(variant.results) for variant in findings.tasks[0].variants}
    assert rows == {"qd-pg": 2, "map-elites": 1}


def test_nothing_to_report_is_one_clear_sentence(matrix: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="there are no runs beneath"):
        gather([tmp_path / "empty"])
    with pytest.raises(UserError, match="is not a directory"):
        gather([tmp_path / "nowhere"])
    for path in matrix.rglob("config.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"steps": 10**9}))
        shutil.rmtree(path.parent / "elites")
    with pytest.raises(UserError, match=r"none of the 5 runs beneath .* has saved anything yet"):
        gather([matrix])
