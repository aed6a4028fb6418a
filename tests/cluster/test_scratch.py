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


def test_directories_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spawn = multiprocessing.get_context("spawn")
    processes, paths = [], []
    for _ in range(2):
        made = spawn.Queue()
        processes.append(spawn.Process(target=_make, args=(tmp_path, made)))
        processes[-1].start()
        paths.append(Path(made.get(timeout=60)))
    (paths[0] / "part").mkdir()
    for path in paths:
        os.utime(path / "held", (0, 0))
    (tmp_path / "qdpg-test-mine").mkdir()  # nobody's, so nobody removes it
    processes[0].kill()
    processes[0].join()
    ours = Scratch("qdpg-test-")
    assert not paths[0].exists()
    assert paths[1].exists()
    assert (tmp_path / "qdpg-test-mine").exists()
    ours.remove()
    assert not ours.path.exists()
    processes[1].kill()
    processes[1].join()


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
