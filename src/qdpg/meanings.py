"""What the fields of a dataclass mean, from where it is written: "Attributes:" in its docstring."""

from __future__ import annotations

import inspect
import re
from typing import Any


def read_meanings(kind: type[Any]) -> dict[str, str]:
    """What the docstrings of `kind` and of its bases say about its fields, by name; the nearest one counts."""
    meanings: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        _, _, after = inspect.cleandoc(each.__doc__ or "").partition("Attributes:\n")
        section = re.match(r"(?:[ ]{4}.*\n?|\n)*", after)
        for name, text in re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", section[0] if section else "", re.MULTILINE):
            meanings[name] = " ".join(text.split())
    return meanings
