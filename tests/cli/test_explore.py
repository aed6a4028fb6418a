"""`qdpg explore` as it is typed: places it cannot write to, and runs whose logs were changed."""

import pytest

from processes import qdpg
from qdpg import load_run, train
from qdpg.errors import UserError
from qdpg.explorer.app import Explorer
from qdpg.explorer.guard import start_server

SMALL = {"population": 4, "initial_policies": 6, "hidden": (8, 8), "cells": (4, 4)}


@pytest.fixture
def run(tmp_path):
    options = {"horizon": 20}
    return train("point-maze", "map-elites", 400, out=tmp_path / "run", task_options=options, **SMALL)


def test_a_directory_is_no_page(run, tmp_path):
    for place in (".", "/", str(tmp_path)):
        done = qdpg("explore", str(run.path), "--to", place)
        assert done.returncode == 2
        assert "is a directory; name the file" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_host_that_is_none_is_refused(run):
    done = qdpg("explore", str(run.path), "--host", "")
    assert done.returncode == 2
    assert "neither a name nor an address" in done.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of viser
def test_a_changed_log_is_named_and_what_can_be_shown_is(run, tmp_path):
    log = run.path / "episodes.csv"
    text = log.read_text()
    assert "2" in text
    log.write_text(text.replace("2", "3"))
    page = tmp_path / "page.html"
    done = qdpg("explore", str(run.path), "--to", str(page))
    assert done.returncode == 0, done.stderr
    assert "episodes.csv" in done.stderr
    assert "What training was like is not shown." in done.stderr
    assert page.is_file()
    shown = Explorer(start_server("127.0.0.1", 0, None), [load_run(run.path)])
    try:
        assert "episodes" in shown.controls._said.content
        assert shown.history is None
    finally:
        shown.close()
    with pytest.raises(UserError, match=r"episodes\.csv"):
        load_run(run.path).episodes()
