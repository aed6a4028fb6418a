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
