"""Directories for a while, in real processes that are killed."""

import multiprocessing
import os
import tempfile
import time
from pathlib import Path

from qdpg.cluster.scratch import Scratch, hold, is_ours


def _make(where, made):
    tempfile.tempdir = str(where)
    scratch = Scratch("qdpg-test-")
    made.put(str(scratch.path))
    time.sleep(60)


def test_a_directory_is_gone_soon_after_its_process_was_killed(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    made = spawn.Queue()
    process = spawn.Process(target=_make, args=(tmp_path, made))
    process.start()
    path = Path(made.get(timeout=60))
    (path / "part").mkdir()
    time.sleep(1)
    assert path.exists()
    process.kill()
    process.join()
    until = time.monotonic() + 60
    while path.exists():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_directories_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    alive, left = Scratch("qdpg-test-"), tmp_path / "qdpg-test-left"  # nobody was there to remove it
    (left / "part").mkdir(parents=True)
    for path in (alive.path, left):
        (path / "held").touch()
        os.utime(path / "held", (0, 0))
    (tmp_path / "qdpg-test-mine").mkdir()  # nobody's, so nobody removes it
    ours = Scratch("qdpg-test-")
    assert not left.exists()
    assert alive.path.exists()
    assert (tmp_path / "qdpg-test-mine").exists()
    for each in (ours, alive):
        each.remove()
        assert not each.path.exists()


def test_a_link_is_not_ours(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert is_ours(tmp_path / "real")
    assert not is_ours(tmp_path / "link")


def test_only_one_holds(tmp_path):
    first = hold(tmp_path / "lock")
    assert first is not None
    assert hold(tmp_path / "lock") is None
    first.close()
    with hold(tmp_path / "lock"):
        pass
