"""Every algorithm, with every preset, on every task of the paper, still does what it did: see `golden.py`."""

import json

import golden
import pytest

RECORDED = json.loads(golden.PATH.read_text())["cases"]


def test_every_case_is_recorded():
    assert list(RECORDED) == golden.case_names()


@pytest.mark.golden  # slow to compile: `make golden`
@pytest.mark.parametrize("name", golden.case_names())
def test_it_does_what_it_did(name):
    assert golden.find_difference(golden.digest(name), RECORDED[name]) is None


@pytest.mark.parametrize(
    ("machine", "change", "difference"),
    [("here", 1e-5, None), ("here", 0.01, "rewards"), ("elsewhere", 0.01, None), ("elsewhere", 0.1, "rewards")],
)
def test_what_is_more_than_rounding_is_a_difference(machine, change, difference):
    recorded = {"machine": "here", "hash": "0", "sketch": {"rewards": [6, -20.0, 100.0]}}
    found = {"machine": machine, "hash": "1", "sketch": {"rewards": [6, -20.0, 100.0 * (1 + change)]}}
    assert golden.find_difference(found, recorded) == difference
