"""Whole numbers on the command line, also written as 1e5 or 100_000."""

from __future__ import annotations

import math
from typing import Annotated

from tyro.constructors import PrimitiveConstructorSpec


def read_whole(text: str) -> int:
    """Read a whole number: 100000, 100_000 or 1e5.

    Raises:
        ValueError: It is none.
    """
    try:
        return int(text)
    except ValueError:
        value = float(text)
    if not math.isfinite(value) or not value.is_integer():
        raise ValueError(f"{text!r} is no whole number")
    return int(value)


Whole = Annotated[
    int,
    PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: read_whole(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    ),
]
