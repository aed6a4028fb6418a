"""`make results`: rows of runs that count, and a page that says what is missing."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from qdpg.report.gather import gather
from qdpg.runs.files import read_json, write_json
from report.real_runs import STEPS, real_runs
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
    (line,) = re.findall(r"^\| `map-elites` \| .*", page, re.MULTILINE)
    middle = sum(float(row["evaluated"]) for row in rows) / 2
    assert f"| −{abs(middle):,.1f} |" in line
    assert "| – | 2 |" in line  # it is not in the paper's table
    assert "Missing: 3 of `td3`, 1 of `map-elites`. On one core" in page
    assert "Missing: all runs." in paper_page.write_page([])
    assert paper_page.with_interval([1.0, 2.0, 6.0]).startswith("2.5 (1.0 to 6.0")


def test_the_committed_page_is_that_of_the_committed_rows():
    assert paper_page.PAGE.read_text() == paper_page.write_page(paper_rows.read_rows(paper_rows.CSV))
