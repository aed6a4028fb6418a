import json
import math
from dataclasses import asdict, dataclass, field
from typing import Literal

import pytest

from qdpg.errors import UserError
from qdpg.options import nested_options, replace_options
from qdpg.ranges import Cells, Count, Positive, Share, Widths


@dataclass(frozen=True)
class Part:
    discount: Share = 0.99
    scale: Positive = 1.0
    shaped: bool = False


@dataclass(frozen=True)
class Options:
    rate: float = 0.1
    number: int = 3
    pair: tuple[float, float] = (0.0, 1.0)
    kind: Literal["a", "b"] = "a"
    limit: float | None = None
    share: Share = 0.5
    batch: Count = 32
    hidden: Widths = (64, 32)
    cells: Cells = (5, 5)
    diversity: Part = field(default_factory=Part)
    quality: Part = field(default_factory=Part)


def test_values_are_fitted():
    changed = replace_options(Options(), {"rate": 2, "pair": [3, 4], "kind": "b", "limit": 1.5}, "it")
    assert changed == Options(2.0, 3, (3, 4), "b", 1.5)
    assert isinstance(changed.rate, float)


@pytest.mark.parametrize(
    "options",
    [
        {"rate": "fast"},
        {"rate": True},
        {"rate": {"x": 1}},
        {"number": 2.5},
        {"number": True},
        {"pair": (1, 2, 3)},
        {"kind": "c"},
        {"limit": "x"},
        {"share": "half"},
        {"share": True},
        {"batch": 2.0},
        {"batch": False},
        {"hidden": 64},
        {"hidden": (64, "x")},
        {"hidden": (64, 2.5)},
        {"cells": "many"},
    ],
)
def test_misfits_are_named(options):
    (key,) = options
    with pytest.raises(UserError, match=f"option '{key}' of it must be"):
        replace_options(Options(), options, "it")


def test_ranges_are_no_part_of_the_words_for_a_type():
    for key, wanted in (("share", "float"), ("batch", "int"), ("hidden", r"tuple\[int, \.\.\.\]")):
        with pytest.raises(UserError, match=f"must be {wanted}, not 'x'"):
            replace_options(Options(), {key: "x"}, "it")


def test_unknown_options_are_named():
    with pytest.raises(UserError, match="did you mean 'number'"):
        replace_options(Options(), {"nunber": 3}, "it")
    with pytest.raises(UserError, match="it has: discount, scale, shaped"):
        replace_options(Part(), {"xyz": 3}, "it")


def test_parts_are_changed_with_dots():
    changed = replace_options(Options(), {"diversity.discount": 1, "number": 4, "diversity.shaped": True}, "it")
    assert changed == Options(number=4, diversity=Part(discount=1.0, shaped=True))
    assert isinstance(changed.diversity.discount, float)


def test_what_was_saved_as_json_comes_back():
    saved = Options(rate=0.3, hidden=(8,), cells=20, diversity=Part(0.9), quality=Part(scale=2.0))
    assert replace_options(Options(), json.loads(json.dumps(asdict(saved))), "it") == saved


def test_a_part_given_as_a_mapping_keeps_the_rest():
    before = Options(diversity=Part(0.9, 2.0))
    assert replace_options(before, {"diversity": {"scale": 3.0}}, "it").diversity == Part(0.9, 3.0)


def test_nothing_to_change_changes_nothing():
    before = Options()
    assert replace_options(before, {}, "it") is before


@pytest.mark.parametrize("options", [{"diversity.discont": 0.9}, {"diversity": {"discont": 0.9}}])
def test_unknown_options_of_parts_are_named(options):
    with pytest.raises(UserError, match="'diversity' of it has no option 'discont'; did you mean 'discount'"):
        replace_options(Options(), options, "it")


@pytest.mark.parametrize(("key", "meant"), [("discount", "(diversity|quality).discount"), ("qality.scale", "quality")])
def test_an_option_of_a_part_is_what_may_have_been_meant(key, meant):
    with pytest.raises(UserError, match=f"did you mean '{meant}'"):
        replace_options(Options(), {key: 0.9}, "it")


@pytest.mark.parametrize("value", [0.9, "x", None, [1, 2]])
def test_a_part_is_no_single_value(value):
    with pytest.raises(UserError, match=r"option 'diversity' of it has parts; give one of: diversity\.discount, div"):
        replace_options(Options(), {"diversity": value}, "it")


def test_a_single_value_has_no_parts():
    with pytest.raises(UserError, match="option 'rate' of it has no parts, but 'x' was given"):
        replace_options(Options(), {"rate.x": 1}, "it")
    with pytest.raises(UserError, match="option 'discount' of 'diversity' of it has no parts, but 'x' was given"):
        replace_options(Options(), {"diversity.discount.x": 1}, "it")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"share": 99}, "option 'share' of it must be at least 0 and at most 1, not 99"),
        ({"share": -1}, "must be at least 0"),
        ({"share": math.nan}, "must be at least 0 and at most 1, not nan"),
        ({"share": math.inf}, "must be at least 0 and at most 1, not inf"),
        ({"batch": 0}, "option 'batch' of it must be at least 1 and at most 2,147,483,647, not 0"),
        ({"diversity.discount": 99}, "option 'discount' of 'diversity' of it must be at least 0 and at most 1"),
        ({"diversity": {"discount": -1}}, "option 'discount' of 'diversity' of it must be at least 0 and at most 1"),
        ({"quality.scale": 0}, "option 'scale' of 'quality' of it must be more than 0, not 0"),
        ({"quality.scale": math.nan}, "must be more than 0, not nan"),
        ({"hidden": (64, 0)}, r"option 'hidden' of it must be at least 1 and at most 2,147,483,647, not \(64, 0\)"),
        ({"hidden": [-1]}, r"option 'hidden' of it must be at least 1 and at most 2,147,483,647, not \(-1,\)"),
        ({"cells": (5, 0)}, r"option 'cells' of it must be at least 1 and at most 2,147,483,647, not \(5, 0\)"),
        ({"cells": 0}, "option 'cells' of it must be at least 1 and at most 2,147,483,647, not 0"),
    ],
)
def test_what_lies_out_of_range_is_named(options, words):
    with pytest.raises(UserError, match=words):
        replace_options(Options(), options, "it")


def test_what_lies_within_its_range_is_taken():
    options = {"share": 1, "batch": 1, "hidden": [7], "cells": 9, "diversity.discount": 0, "quality.scale": 1e-9}
    expected = Options(share=1.0, batch=1, hidden=(7,), cells=9, diversity=Part(0.0), quality=Part(scale=1e-9))
    assert replace_options(Options(), options, "it") == expected
    assert replace_options(Options(), {"cells": [3, 4]}, "it").cells == (3, 4)


def test_options_of_parts_have_names_with_dots():
    parts = ("diversity", "quality")
    assert nested_options(Options()) == [f"{part}.{name}" for part in parts for name in ("discount", "scale", "shaped")]
    assert nested_options(Part()) == []
