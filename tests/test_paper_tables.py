"""`make results`: rows of runs that count, and a page that says what is missing."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from qdpg.algorithms.registry import make_config
from qdpg.report import paper
from qdpg.report.gather import gather
from qdpg.runs.files import read_json, write_json
from report.real_runs import SETTINGS, STEPS, real_runs
from unsealed import unseal

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import paper_page  # noqa: E402
import paper_rows  # noqa: E402

PART = paper_rows.Part("maze", "Table 1, point-maze", "point-maze", ("td3", "map-elites"), 3, STEPS)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Runs of one part, of code that was committed."""
    shutil.copytree(real_runs(), tmp_path / "maze")
    small = {name: paper_rows.as_written(make_config(name, "tuned", "point-maze", SETTINGS[name])) for name in SETTINGS}
    monkeypatch.setattr(paper_rows, "settings_of_today", lambda part, name: small[name])
    for module in (paper_rows, paper_page):
        monkeypatch.setattr(module, "PARTS", (PART,))
    for path in [each.with_name("manifest.json") for each in (tmp_path / "maze").rglob("config.json")]:
        unseal(path.parent)
        write_json(path, read_json(path) | {"revision": "a" * 40, "changed": False})
    return tmp_path


def test_runs_that_are_evaluated_count(runs):
    rows = paper_rows.collect(runs)
    assert [(row["algorithm"], row["seed"]) for row in rows] == [("map-elites", "0"), ("map-elites", "1")]
    results = {result.name: result for result in gather([runs / "maze"]).results}
    stored = results["point-maze/map-elites/seed-1"].best_elite
    assert float(rows[1]["stored"]) == pytest.approx(stored, rel=1e-5)
    assert rows[0]["revision"] == "a" * 12
    assert set(rows[0]) == set(paper_rows.COLUMNS)


@pytest.mark.parametrize("changes", [{"changed": True}, {"revision": None}])
def test_runs_of_code_that_was_not_committed_do_not_count(runs, changes):
    path = runs / "maze" / "point-maze" / "map-elites" / "seed-0" / "manifest.json"
    write_json(path, read_json(path) | changes)
    assert [row["seed"] for row in paper_rows.collect(runs)] == ["1"]


def test_runs_with_other_settings_than_the_preset_has_today_do_not_count(runs, monkeypatch):
    assert len(paper_rows.collect(runs)) == 2
    monkeypatch.undo()
    monkeypatch.setattr(paper_rows, "PARTS", (PART,))
    assert paper_rows.collect(runs) == []


def test_rows_outlive_runs_and_newer_ones_replace_them(runs, tmp_path):
    rows = paper_rows.collect(runs)
    paper_rows.write_rows(tmp_path / "rows.csv", rows)
    held = paper_rows.read_rows(tmp_path / "rows.csv")
    assert held == rows
    newer, further = rows[0] | {"revision": "b" * 12}, rows[0] | {"algorithm": "td3", "seed": "10"}
    merged = paper_rows.merge(held, [newer, further, rows[0] | {"algorithm": "somebody's"}])
    assert merged == [further, newer, rows[1]]


def test_the_page_has_the_rows_and_what_is_missing(runs):
    rows = paper_rows.collect(runs)
    page = paper_page.write_page(rows)
    assert "2 of 6 runs, 6,000 steps each" in page
    _, line = re.findall(r"^\| `map-elites` \| .*", page, re.MULTILINE)  # the first is that of all tasks
    middle = sum(float(row["evaluated"]) for row in rows) / 2
    assert f">−{abs(middle):,.1f}<!-- end --> |" in line
    assert "| – | <!-- name: maze/map-elites/seeds -->2<!-- end --> |" in line  # it is not in the paper's table
    assert "Missing: 3 of `td3`, 1 of `map-elites`. On one core" in page
    assert "Missing: all runs." in paper_page.write_page([])
    assert paper_page.with_interval([1.0, 2.0, 6.0]).startswith("2.5 (1.0 to 6.0")


def test_table_1_has_all_tasks_side_by_side_and_sentences_say_what_differs(runs, monkeypatch, tmp_path):
    reasons = tmp_path / "reasons.csv"
    reasons.write_text("part,algorithm,sentence\nmaze,map-elites,It varies at random.\nmaze,td3,Nobody ran it.\n")
    monkeypatch.setattr(paper_page, "REASONS", reasons)
    monkeypatch.setattr(paper_page, "PARTS", (PART._replace(name="point-maze"),))
    rows = [row | {"part": "point-maze"} for row in paper_rows.collect(runs)]
    first, second = (float(row["stored"]) for row in rows)
    (line,) = (line for line in paper_page.write_overview(rows) if line.startswith("| `map-elites`"))
    assert line.split(" | ")[2:] == [f"−{-(first + second) / 2:.1f}", "2, 6,000", "– |"]
    assert "| `td3` | – | – | – | −129 ± 1 |" in paper_page.write_overview([])
    assert [paper_page.amount(steps) for steps in (10**6, 10**7, 2 * 10**5)] == ["10⁶", "10⁷", "200,000"]
    monkeypatch.setattr(paper_page, "PARTS", (PART,))
    page = paper_page.write_page(paper_rows.collect(runs))
    assert "- `map-elites`: It varies at random." in page
    assert "Nobody ran it" not in page  # it has no row


def test_every_row_that_differs_from_the_paper_has_its_sentence():
    rows, said = paper_rows.read_rows(paper_rows.CSV), paper_rows.read_rows(paper_page.REASONS)
    explained = {(row["part"], row["algorithm"]) for row in said}
    assert explained <= {(row["part"], row["algorithm"]) for row in rows}
    for part in paper_rows.PARTS:
        for name, known in paper.FINAL[part.task].items():
            own = [float(row["evaluated"]) for row in rows if (row["part"], row["algorithm"]) == (part.name, name)]
            if own and abs(np.median(own) - known.median) > max(2 * known.spread, 0.05 * abs(known.median)):
                assert (part.name, name) in explained, "say why in docs/results/paper-reasons.csv"


def test_the_committed_page_is_that_of_the_committed_rows():
    assert paper_page.PAGE.read_text() == paper_page.write_page(paper_rows.read_rows(paper_rows.CSV))
