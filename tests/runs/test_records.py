"""Records: typed, sealed, tied."""

import hashlib
import json
from dataclasses import dataclass, field

import pytest

from qdpg.errors import DamagedError, MissingError
from qdpg.ranges import Count, Share
from qdpg.runs.records import Written, digest, parse, read_sealed, write_record


@dataclass(frozen=True)
class Part:
    share: Share
    name: str | None = None


@dataclass(frozen=True)
class Whole:
    number: Count
    parts: list[Part]
    by_name: dict[str, Part]
    pair: tuple[int, float]
    single: Part | None = None
    others: dict[str, int] = field(default_factory=dict)


GOOD = {"number": 3, "parts": [{"share": 0.5}], "by_name": {"a": {"share": 1, "name": "x"}}, "pair": [1, 2]}


def test_plain_data_become_objects():
    found = parse(Whole, GOOD, "x.json")
    assert found == Whole(3, [Part(0.5)], {"a": Part(1.0, "x")}, (1, 2.0))
    assert parse(Whole, GOOD | {"single": {"share": 0}}, "x.json").single == Part(0.0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"number": 0}, "'number' must be at least 1"),
        ({"number": "3"}, "'number' must be int"),
        ({"number": True}, "'number' must be int"),
        ({"number": 10**400}, "'number' must be at least 1"),
        ({"parts": {}}, "'parts' must be"),
        ({"parts": [{"share": float("nan")}]}, "'share' must be at least 0"),
        ({"parts": [{}]}, "'share' is missing"),
        ({"parts": [3]}, "must have fields"),
        ({"by_name": {"a": {"share": 0.5, "odd": 1}}}, "there is no field 'odd'"),
        ({"pair": [1]}, "'pair' must have 2 entries"),
        ({"pair": None}, "'pair' must be"),
        ({"extra": 1}, "there is no field 'extra'"),
    ],
)
def test_what_does_not_fit_names_file_and_field(changes, sentence):
    with pytest.raises(DamagedError, match=r"^x\.json is damaged: ") as error:
        parse(Whole, GOOD | changes, "x.json")
    assert sentence in str(error.value)


def test_a_record_notices_any_change(tmp_path):
    path = tmp_path / "x.json"
    write_record(path, {"a": 1.5, "b": {"c": [1, 2]}, "n": float("nan")})
    text = path.read_text()
    assert read_sealed(path)["b"] == {"c": [1, 2]}
    for old, new in (("1.5", "1.6"), ('"c"', '"d"'), ("2", "3"), ("NaN", "0.0")):
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(DamagedError, match="was changed"):
            read_sealed(path)
    data = json.loads(text)
    del data["sha256"]
    path.write_text(json.dumps(data))
    with pytest.raises(DamagedError, match="lacks 'sha256'"):
        read_sealed(path)
    assert read_sealed(path, is_sealed=False)["a"] == 1.5


def test_a_digest_does_not_depend_on_the_order():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1, "sha256": "x"}) != digest({"a": 2, "b": 1})


def test_what_was_written_may_grow_but_not_change(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"a,b\n1,2\n")
    written = Written(8, hashlib.sha256(b"a,b\n1,2\n").hexdigest())
    written.check(path)
    path.write_bytes(b"a,b\n1,2\n3,")
    written.check(path)
    for content, error in ((b"a,b\n1,3\n", DamagedError), (b"a,b\n", DamagedError), (b"", MissingError)):
        path.write_bytes(content)
        with pytest.raises(error, match=r"log\.csv"):
            written.check(path)
