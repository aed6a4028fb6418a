"""`qdpg explore` as it is typed: places it cannot write to, and runs whose logs were changed."""

from pathlib import Path

import pytest

from processes import qdpg
from qdpg import load_run, train
from qdpg.cli import explore
from qdpg.errors import UserError
from qdpg.explorer.app import Explorer
from qdpg.explorer.guard import start_server

SMALL = {"population": 4, "initial_policies": 6, "hidden": (8, 8), "cells": (4, 4)}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    options, out = {"horizon": 20}, tmp_path_factory.mktemp("made") / "run"
    return train("point-maze", "map-elites", 400, out=out, task_options=options, **SMALL)


def call(run, to=None, host="127.0.0.1"):
    return explore.run([run.path], to, host, port=0, open_browser=False, quiet=True)


def test_a_directory_is_no_page(run, tmp_path):
    for place in (Path("."), Path("/"), tmp_path):
        with pytest.raises(UserError, match="is a directory; name the file"):
            call(run, place)


def test_a_host_that_is_none_is_refused(run):
    with pytest.raises(UserError, match="neither a name nor an address"):
        call(run, host="")


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
