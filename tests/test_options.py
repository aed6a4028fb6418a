from dataclasses import dataclass
from typing import Literal

import pytest

from qdpg.errors import UserError
from qdpg.options import replace_options


@dataclass(frozen=True)
class Options:
    rate: float = 0.1
    number: int = 3
    pair: tuple[float, float] = (0.0, 1.0)
    kind: Literal["a", "b"] = "a"
    limit: float | None = None


def test_values_are_fitted():
    changed = replace_options(Options(), {"rate": 2, "pair": [3, 4], "kind": "b", "limit": 1.5}, "it")
    assert changed == Options(2.0, 3, (3, 4), "b", 1.5)
    assert isinstance(changed.rate, float)


@pytest.mark.parametrize(
    "options", [{"rate": "fast"}, {"number": 2.5}, {"number": True}, {"pair": (1, 2, 3)}, {"kind": "c"}, {"limit": "x"}]
)
def test_misfits_are_named(options):
    (key,) = options
    with pytest.raises(UserError, match=f"option '{key}' of it must be"):
        replace_options(Options(), options, "it")


def test_unknown_options_are_named():
    with pytest.raises(UserError, match="did you mean 'number'"):
        replace_options(Options(), {"nunber": 3}, "it")
