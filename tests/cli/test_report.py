"""`qdpg report` as a user meets it: real processes, their output and their exit codes."""

import pytest

from processes import qdpg


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A directory with one small run in it."""
    directory = tmp_path_factory.mktemp("runs")
    settings = ["population=10", "initial_policies=10", "hidden=8,8"]
    words = ["train", "point-maze", "--algorithm", "map-elites", "--steps", 6000, "--out", directory / "run", "--quiet"]
    done = qdpg(*words, "--set", *settings)
    assert done.returncode == 0, done.stderr
    return directory


def test_report_of_a_trained_run_and_then_of_a_damaged_one(runs):
    done = qdpg("report", runs)
    assert done.returncode == 0, done.stderr
    page = runs / "report" / "report.html"
    assert done.stdout.strip() == str(page)
    assert "map-elites" in page.read_text()
    before = {path: path.read_bytes() for path in runs.rglob("report/**/*") if path.is_file()}

    (runs / "run" / "metrics.csv").unlink()
    done = qdpg("report", runs, "--out", runs / "again")
    assert (done.returncode, done.stdout) == (2, "")
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("qdpg: none of the 1 run beneath ")
    assert "metrics.csv is missing" in sentence
    assert not (runs / "again").exists()
    assert {path: path.read_bytes() for path in before} == before


def test_report_wants_a_directory(tmp_path):
    done = qdpg("report")
    assert (done.returncode, done.stderr) == (2, "qdpg: name at least one directory that holds runs.\n")
    done = qdpg("report", tmp_path)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "there are no runs beneath" in done.stderr
