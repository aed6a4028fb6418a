"""A run of a task in the user's own file opens from any directory, and says what is missing where it does not."""

import json
import shutil
import sys
import types

import pytest

from processes import qdpg
from qdpg.errors import DamagedError, UserError
from qdpg.plugins import find_places, make_findable
from qdpg.runs.records import write_record
from qdpg.runs.run import load_run

TASK = """
from dataclasses import dataclass
from qdpg.tasks.point_maze import PointMaze

@dataclass(frozen=True)
class Small(PointMaze):
    horizon: int = 12
"""
SMALL = ["population=4", "initial_policies=4", "hidden=4,4"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that was made in a directory of its own, with the file of its task beside it."""
    home = tmp_path_factory.mktemp("home")
    (home / "small_mazes.py").write_text(TASK)
    words = ["--steps", "100", "--algorithm", "map-elites", "--evaluate-seconds", "0", "--quiet", "--set", *SMALL]
    assert qdpg("train", "small_mazes:Small", "--out", "run", *words, cwd=home).returncode == 0
    return home / "run"


def test_it_is_played_and_continued_from_another_directory(run, tmp_path):
    assert qdpg("verify", run, "--trust", cwd=tmp_path).returncode == 0
    assert qdpg("resume", run, "--trust", "--steps", 200, "--quiet", cwd=tmp_path).returncode == 0


def test_whoever_does_not_trust_it_is_told_which_file_it_would_be(run, tmp_path):
    done = qdpg("verify", run, cwd=tmp_path)
    assert done.returncode == 2
    assert f"from {run.parent / 'small_mazes.py'}" in done.stderr


def test_one_sentence_says_what_is_missing(run, tmp_path):
    moved = shutil.copytree(run.parent, tmp_path / "moved")
    manifest = json.loads((moved / "run" / "manifest.json").read_text())
    manifest["code"]["small_mazes"] = str(tmp_path / "gone")
    write_record(moved / "run" / "manifest.json", manifest)
    done = qdpg("verify", moved / "run", "--trust", cwd=tmp_path)
    assert done.returncode == 2
    assert "'small_mazes', which was in" in done.stderr
    assert "go to the directory that has it." in done.stderr
    assert qdpg("verify", "run", "--trust", cwd=moved).returncode == 0


@pytest.mark.parametrize("places", ["here", {"small_mazes": 3}, {"small_mazes": "relative"}])
def test_places_that_are_none_are_refused(run, tmp_path, places):
    path = shutil.copytree(run, tmp_path / "run")
    manifest = json.loads((path / "manifest.json").read_text())
    write_record(path / "manifest.json", {**manifest, "code": places})
    with pytest.raises(DamagedError, match="names no directories"):
        load_run(path)


def test_a_module_of_the_same_name_is_not_taken_for_it(run, tmp_path, monkeypatch):
    other = types.ModuleType("small_mazes")
    other.__file__ = str(tmp_path / "small_mazes.py")
    monkeypatch.setitem(sys.modules, "small_mazes", other)
    with pytest.raises(UserError, match="has been imported already"):
        make_findable("small_mazes:Small", str(run.parent))


def test_where_it_was_comes_before_where_one_is(run, tmp_path, monkeypatch):
    (tmp_path / "small_mazes.py").write_text("raise ValueError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "small_mazes", raising=False)
    assert load_run(run, trust=True).task.horizon == 12
    monkeypatch.delitem(sys.modules, "small_mazes")


def test_what_is_searched_before_installed_packages_stays_as_it_is(run, tmp_path, monkeypatch):
    """Python itself searches the current directory first in `python -c`; then nothing else may come before it."""
    (tmp_path / "small_mazes.py").write_text("raise ValueError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *(each for each in sys.path if each)])
    monkeypatch.delitem(sys.modules, "small_mazes", raising=False)
    with pytest.raises(UserError, match="comes before it"):
        make_findable("small_mazes:Small", str(run.parent))
    assert sys.path[0] == ""
    length = len(sys.path)
    with pytest.raises(UserError, match="comes before it"):
        make_findable("small_mazes:Small", str(run.parent))
    assert len(sys.path) == length


def test_a_linked_file_is_where_the_link_is(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "other_name.py").write_text(TASK)
    (tmp_path / "linked_mazes.py").symlink_to(tmp_path / "real" / "other_name.py")
    monkeypatch.chdir(tmp_path)
    assert find_places("linked_mazes:Small") == {"linked_mazes": str(tmp_path)}


def test_installed_and_built_in_code_has_no_place():
    assert find_places("point-maze", "gym:Ant-v5", "numpy:array", "json:loads") == {}
