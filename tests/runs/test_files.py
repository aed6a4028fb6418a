"""One way to read, one way to write."""

import json
import os

import numpy as np
import psutil
import pytest
from safetensors.numpy import load_file

from qdpg.errors import DamagedError, MissingError, UserError
from qdpg.runs import files
from qdpg.runs.files import (
    check_inside,
    checksum,
    lock_directory,
    open_file,
    read_arrays,
    read_bytes,
    read_json,
    write_arrays,
    write_bytes,
)

ARRAYS = {
    "a": np.arange(6, dtype=np.int64).reshape(2, 3),
    "b": np.array([True, False, True]),
    "c": np.linspace(0, 1, 5, dtype=np.float32),
    "d": np.zeros((0, 3)),
    "e": np.float64(3).reshape(()),
}


def test_arrays_are_read_as_they_were_written_here_and_by_the_library(tmp_path):
    path = tmp_path / "deep" / "x.safetensors"
    digest = write_arrays(path, ARRAYS)
    assert digest == checksum(path)
    for found in (read_arrays(path, digest), load_file(path)):
        assert found.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            assert found[name].dtype == array.dtype
            np.testing.assert_array_equal(found[name], array)
    with pytest.raises(DamagedError, match="recorded checksum"):
        read_arrays(path, "0" * 64)


def test_what_is_written_may_be_read_by_whom_the_umask_allows(tmp_path):
    before = os.umask(0o027)
    try:
        write_arrays(tmp_path / "x.safetensors", ARRAYS)
        write_bytes(tmp_path / "y", b"y")
    finally:
        os.umask(before)
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("x.safetensors", "y")} == {0o640}


def test_links_pipes_directories_and_what_is_too_large_are_not_read(tmp_path):
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    (tmp_path / "large").write_bytes(b"")
    os.truncate(tmp_path / "large", 2**40)
    for name in ("link", "pipe", "directory", "large"):
        with pytest.raises(DamagedError, match=name):
            read_bytes(tmp_path / name)
    with pytest.raises(MissingError, match="nothing is missing"):
        read_bytes(tmp_path / "nothing")


def test_what_would_take_all_memory_is_not_read(tmp_path):
    size = psutil.virtual_memory().available
    if not files._MODEST < size <= files.MOST:
        pytest.skip("this machine has very little memory, or a great deal")
    (tmp_path / "x").write_bytes(b"")
    os.truncate(tmp_path / "x", size)  # takes no room on the disk
    with pytest.raises(UserError, match="memory that is free"):
        read_bytes(tmp_path / "x")


def test_a_file_with_other_names_is_copied_before_it_is_written_to(tmp_path):
    (tmp_path / "backup").write_text("a")
    (tmp_path / "x").hardlink_to(tmp_path / "backup")
    with os.fdopen(open_file(tmp_path / "x", os.O_WRONLY | os.O_APPEND), "ab") as file:
        file.write(b"b")
    assert ((tmp_path / "x").read_text(), (tmp_path / "backup").read_text()) == ("ab", "a")


def test_a_link_in_the_place_of_a_file_is_replaced_and_its_end_left_alone(tmp_path):
    (tmp_path / "precious").write_text("precious")
    for name in ("x", ".tmp-x"):
        (tmp_path / name).symlink_to(tmp_path / "precious")
    write_bytes(tmp_path / "x", b"new")
    assert (tmp_path / "precious").read_text() == "precious"
    assert (tmp_path / "x").read_bytes() == b"new"
    assert not (tmp_path / "x").is_symlink()


def test_the_lock_is_never_a_link(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / ".lock").symlink_to(tmp_path / "precious")
    with pytest.raises(DamagedError, match="link"):
        lock_directory(tmp_path, "busy")
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe"])
def test_a_run_holds_files_and_directories_only(tmp_path, kind):
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    check_inside(tmp_path)
    if kind == "pipe":
        os.mkfifo(inside / "x")
    else:
        (inside / "x").symlink_to("/etc/passwd" if kind == "link" else "/nowhere/at/all")
    with pytest.raises(DamagedError, match="a/b/x is a"):
        check_inside(tmp_path)
    check_inside(tmp_path, but=["a"])


def test_a_full_disk_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    write_bytes(tmp_path / "x", b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_bytes(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


BAD = {"empty": "", "half": "{", "list": "[]", "deep": "[" * 100_000, "long": '{"a": ' + "9" * 9999 + "}"}
BAD |= {"rather deep": '{"a": ' * 60 + "1" + "}" * 60}  # which would end in an error when it is written again
BAD |= {"escape": '{"a": "\\u001b[31m"}', "turned": '{"\\u202e": 1}'}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_json_that_is_no_record_is_one_sentence(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UserError, match=r"x\.json is damaged") as error:
        read_json(tmp_path / "x.json")
    assert "\n" not in str(error.value)
    assert "\x1b" not in str(error.value)


def test_json_may_hold_what_is_not_finite(tmp_path):
    (tmp_path / "x.json").write_text(json.dumps({"loss": float("nan")}))
    assert np.isnan(read_json(tmp_path / "x.json")["loss"])
