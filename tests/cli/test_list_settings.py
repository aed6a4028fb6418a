import json

import pytest

from qdpg.cli.list_settings import run
from qdpg.cli.settings import format_value, parse_settings
from qdpg.errors import UserError


def test_settings_are_printed_as_set_takes_them(capsys):
    assert run("qd-pg", "point-maze", "tuned", ["population=9"], as_json=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "qd-pg, preset tuned, on point-maze" in lines[0]
    for line in (
        "population=9  (set, instead of 8)",
        "hidden=64,32  (paper)",
        "batch_size=100  (tuned, instead of 256)",
        "archive.depth=2  (paper)",
        "archive.reevaluations=0.25  (tuned, instead of 0.0)",
    ):
        assert line in lines
    assert lines[lines.index("neighbours=10  (paper)") + 1].strip().startswith("K: the novelty of a state is its mean")
    assert max(map(len, lines)) <= 80
    assert run("qd-pg", "point-maze", "paper", [], as_json=False) == 0
    assert "archive.depth=2  (paper; does nothing, since archive.reevaluations is 0)" in capsys.readouterr().out


def test_json_is_one_object(capsys):
    assert run("map-elites", None, "paper", [], as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["algorithm"], found["task"], found["preset"]) == ("map-elites", None, "paper")
    cells = next(each for each in found["settings"] if each["name"] == "cells")
    assert set(cells) == {"name", "value", "source", "instead_of", "meaning", "idle"}
    assert cells["value"] == [7, 7]


def test_there_must_be_such_a_task():
    with pytest.raises(UserError, match="there is no task 'point-mase'"):
        run("qd-pg", "point-mase", "tuned", [], as_json=True)


@pytest.mark.parametrize(
    "value", [1, 2.5e-7, True, None, "word", (0, 1), ("x", 2), 1e22, (), (64,), ("x",), "", "3", "a,b", "null"]
)
def test_what_is_printed_is_read_back(value):
    assert parse_settings([f"a={format_value(value)}"]) == {"a": value}
