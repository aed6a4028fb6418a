"""TensorBoard reads what we write ourselves."""

import numpy as np
import pytest

from qdpg.runs.events import TensorBoardLog, _masked_crc

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of TensorBoard's own


def read(path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(path)).Reload()


def test_the_checksum_is_that_of_the_format():
    """CRC-32C of "123456789" is e3069283; masked it is rotated right by 15 and a constant is added."""
    crc = 0xE3069283
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert int.from_bytes(_masked_crc(b"123456789"), "little") == masked


def test_numbers_are_read_as_they_were_written(tmp_path):
    log = TensorBoardLog(tmp_path, 0)
    for steps in (1, 300, 70_000):
        log.append("train", {"a": np.float32(steps / 2), "b": -1.5, "name": "x", "nothing": np.nan}, steps)
    events = read(tmp_path)
    assert events.Tags()["scalars"] == ["train/a", "train/b"]
    assert [(each.step, each.value) for each in events.Scalars("train/a")] == [(1, 0.5), (300, 150), (70_000, 35_000)]


def test_what_is_repeated_replaces_what_was_there(tmp_path):
    first = TensorBoardLog(tmp_path, 0)
    for steps in (1, 2, 3, 4):
        first.append("train", {"a": 1.0}, steps)
    again = TensorBoardLog(tmp_path, 3)
    for steps in (3, 4, 5):
        again.append("train", {"a": 2.0}, steps)
    assert len(list(tmp_path.glob("events.*"))) == 2
    found = [(each.step, each.value) for each in read(tmp_path).Scalars("train/a")]
    assert found == [(1, 1.0), (2, 1.0), (3, 2.0), (4, 2.0), (5, 2.0)]
