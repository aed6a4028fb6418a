"""A short campaign with a cheap victim; `make attack` is the long one."""

import pytest
from campaign import ATTACKS, Arena, one

pytestmark = [pytest.mark.xdist_group("attack")]
SEED = 2026
NUMBERS = {"file mutations": 10, "strangers' runs": 6, "command lines": 10, "settings": 2}
SLOW = {"kills": 1, "signals": 2, "full disks": 2, "read-only directories": 2, "two writers": 2}
LONG = {"memory limits"}  # in `make attack` only: on a busy machine a starving process takes longer than it may


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    return Arena(tmp_path_factory.mktemp("arena"), ("map-elites",), compares=False)


def test_every_kind_of_attack_has_a_short_form():
    assert {*NUMBERS, *SLOW, *LONG} == set(ATTACKS)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] * (name in ("file mutations", "strangers' runs")))
        for name in NUMBERS
    ],
)
def test_nothing_is_found(arena, name):
    for number in range(NUMBERS[name]):
        assert one(arena, name, SEED, number)["faults"] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_nothing_is_found_in_minutes(arena, name):
    for number in range(SLOW[name]):
        assert one(arena, name, SEED, number)["faults"] == []
