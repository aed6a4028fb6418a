"""Every algorithm, with every preset, on every task of the paper, still does what it did: see `golden.py`."""

import json

import golden
import numpy as np
import pytest

RECORDED = json.loads(golden.PATH.read_text())
IS_SAME_MACHINE = RECORDED["machine"] == golden.machine()


def test_every_case_is_recorded():
    assert list(RECORDED["cases"]) == golden.case_names()


@pytest.mark.golden  # slow to compile: `make golden`
@pytest.mark.parametrize("name", golden.case_names())
def test_it_does_what_it_did(name):
    found, recorded = golden.digest(name), RECORDED["cases"][name]
    if IS_SAME_MACHINE:
        assert found["hash"] == recorded["hash"]
    assert found["sketch"].keys() == recorded["sketch"].keys()
    for field, (size, *numbers) in recorded["sketch"].items():
        assert found["sketch"][field][0] == size, field
        # Another machine rounds differently, which grows on the way.
        np.testing.assert_allclose(found["sketch"][field][1:], numbers, rtol=0.05, atol=0.05 * abs(numbers[-1]) + 1e-3)
