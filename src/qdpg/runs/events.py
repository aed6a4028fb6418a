"""Scalars for TensorBoard, written at once and by ourselves: no thread that could be waited for.

A file of events is a row of records, each framed by its length and checksums; a record is a protocol buffer `Event`:

    wall_time = 1 (double), step = 2 (varint), file_version = 3 (string), summary = 5, session_log = 7
    Summary: value = 1, of which tag = 1 (string) and simple_value = 2 (float)
    SessionLog: status = 1, of which 1 is START: what was logged from this step on is forgotten
"""

from __future__ import annotations

import functools
import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from qdpg.runs.files import open_file

_POLYNOMIAL = 0x82F63B78  # of CRC-32C, reversed
_BYTES = 2  # wire type of strings and messages


class TensorBoardLog:
    """Scalars for TensorBoard; what a resumed run repeats replaces what was there."""

    def __init__(self, directory: Path, steps: int) -> None:
        """Begin a file of events after `steps`. It is made with the first row."""
        name = f"events.out.tfevents.{time.time_ns()}.{os.getpid()}.{socket.gethostname() or 'here'}"
        self._path, self._steps = directory / name.replace("/", "-"), steps
        self._is_begun = False

    def append(self, prefix: str, row: Mapping[str, Any], steps: int) -> None:
        """Write the numbers of `row` at `steps`."""
        events = []
        if not self._is_begun:
            events.append(_event(0, _field(3, b"brain.Event:2")))
            if self._steps:
                events.append(_event(self._steps, _field(7, b"\x08\x01")))
        values = {
            f"{prefix}/{name}": float(value)
            for name, value in row.items()
            if isinstance(value, int | float | np.generic) and np.isfinite(value)
        }
        summary = b"".join(_field(1, _field(1, t.encode()) + b"\x15" + struct.pack("<f", v)) for t, v in values.items())
        events.append(_event(steps, _field(5, summary)))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | (0 if self._is_begun else os.O_EXCL)
        with os.fdopen(open_file(self._path, flags), "ab") as file:
            file.write(b"".join(events))
        self._is_begun = True


def _event(step: int, content: bytes) -> bytes:
    """A framed event of now."""
    data = b"\x09" + struct.pack("<d", time.time()) + b"\x10" + _varint(step) + content
    length = struct.pack("<Q", len(data))
    return length + _masked_crc(length) + data + _masked_crc(data)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | _BYTES]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@functools.cache
def _table() -> tuple[int, ...]:
    """CRC-32C of every byte."""
    entries = []
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ (_POLYNOMIAL if entry & 1 else 0)
        entries.append(entry)
    return tuple(entries)


def _masked_crc(data: bytes) -> bytes:
    """The checksum that frames hold: CRC-32C, rotated and shifted so that it differs from one of data that hold it."""
    crc, table = 0xFFFFFFFF, _table()
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
