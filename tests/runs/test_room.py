"""What does not fit is said in numbers that a person can compare."""

import re
from collections import namedtuple

import pytest

from qdpg.algorithms.algorithm import Footprint
from qdpg.errors import UserError
from qdpg.runs import room

Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(("free", "said"), [(0, "0.0 KiB"), (300 * 2**10, "300.0 KiB"), (2**21, "2.0 MiB")])
def test_a_small_disk_is_not_said_to_have_nothing(free, said, tmp_path, monkeypatch):
    monkeypatch.setattr(room.shutil, "disk_usage", lambda path: Usage(2**40, 2**40 - free, free))
    with pytest.raises(UserError, match=f"only {re.escape(said)} are free") as refusal:
        room.check_disk(Footprint(0, 2**20, 2**20), tmp_path / "runs" / "new")
    needed = re.search(r"need about (\S+) MiB", str(refusal.value))
    assert float(needed[1]) * 2**20 > free


def test_little_memory_is_said_in_its_own_unit(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "free_memory", lambda: 5 * 2**20)
    with pytest.raises(UserError, match=r"needs about 70[01]\.0 MiB of memory, but only 5\.0 MiB are free"):
        room.check_room(Footprint(2**20, 0, 0), tmp_path)
