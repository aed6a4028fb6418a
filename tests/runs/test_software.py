"""What a run remembers of the software that made it."""

import shutil
import subprocess

import pytest
from small_runs import Silent

import qdpg
from qdpg.runs import software
from qdpg.runs.records import read_sealed, write_record
from qdpg.runs.run import load_run
from qdpg.runs.train import Trainer


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout of its own, as if qdpg ran from there."""
    source = tmp_path / "src" / "qdpg" / "runs" / "software.py"
    source.parent.mkdir(parents=True)
    shutil.copy(software.__file__, source)
    monkeypatch.setattr(software, "__file__", str(source))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "src")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "first")
    return tmp_path


def git(directory, *words):
    return subprocess.run(["git", "-C", directory, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_the_revision_and_whether_the_source_was_changed_since(checkout):
    found = software.describe_software()
    assert found["revision"] == git(checkout, "rev-parse", "HEAD")
    assert found["changed"] is False
    (checkout / "notes.txt").write_text("not part of the source")
    assert software.describe_software()["changed"] is False
    (checkout / "src" / "qdpg" / "new.py").write_text("x = 1\n")
    assert software.describe_software()["changed"] is True


def test_outside_of_a_checkout_nothing_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(software, "__file__", str(tmp_path / "qdpg" / "runs" / "software.py"))
    (tmp_path / "qdpg").mkdir()
    found = software.describe_software()
    assert (found["revision"], found["changed"]) == (None, False)


def test_a_changed_source_alone_is_no_other_result():
    now = software.describe_software()
    assert software.differences(now | {"changed": True, "revision": "x"}, now) == []
    assert software.differences(now | {"jax": "0.0"}, now)


@pytest.fixture
def elsewhere(tmp_path):
    """A run that another revision made."""
    small = {"population": 4, "initial_policies": 4, "hidden": (4, 4)}
    run = qdpg.train("point-maze", "map-elites", 80, out=tmp_path / "run", task_options={"horizon": 10}, **small)
    manifest = read_sealed(run.path / "manifest.json")
    write_record(run.path / "manifest.json", {**manifest, "revision": "another", "changed": False})
    return run.path


@pytest.mark.parametrize(
    ("options", "revision", "has_changed"),
    [({}, "another", False), ({"steps": 160}, "another", True), ({"restart": True}, None, None)],
)
def test_the_code_that_trains_is_remembered_and_no_other(elsewhere, options, revision, has_changed):
    Trainer(load_run(elsewhere), Silent(), **options).train()
    manifest, now = load_run(elsewhere).manifest, software.describe_software()
    assert manifest["revision"] == (revision or now["revision"])
    assert manifest["changed"] == (now["changed"] if has_changed is None else has_changed)
