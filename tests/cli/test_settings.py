import pytest

from qdpg.cli.numbers import read_whole
from qdpg.cli.settings import parse_settings, split_settings
from qdpg.errors import UserError


def test_values_are_read_by_their_form():
    settings = parse_settings(["a=1", "b=2.5e-3", "c=true", "d=0,1", "e=[3, 4]", "f=word", "g=x,2", "h=null"])
    assert settings == {"a": 1, "b": 0.0025, "c": True, "d": (0, 1), "e": (3, 4), "f": "word", "g": ("x", 2), "h": None}


def test_powers_of_ten_are_whole_numbers():
    assert [type(value) for value in parse_settings(["a=1e6", "b=1e-6", "c=2.0", "d=1.5e3"]).values()] == [
        *(int, float, float, int)
    ]
    assert [read_whole(text) for text in ("100000", "100_000", "1e5", "2.5E3")] == [100_000, 100_000, 100_000, 2500]
    for text in ("1.5", "1e-3", "inf", "nan", "many", ""):
        with pytest.raises(ValueError, match=r"whole number|could not convert"):
            read_whole(text)


@pytest.mark.parametrize("pair", ["a", "=1", "a=", " =2", ""])
def test_malformed_pairs_are_refused(pair):
    with pytest.raises(UserError, match="key=value"):
        parse_settings([pair])


def test_a_key_given_twice_is_refused():
    with pytest.raises(UserError, match="twice"):
        parse_settings(["a=1", "a=2"])


def test_task_settings_are_separated():
    assert split_settings({"task.goal": (1, 2), "lr": 3}) == ({"goal": (1, 2)}, {"lr": 3})
