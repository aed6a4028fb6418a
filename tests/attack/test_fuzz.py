"""Anything at all, where a person or a file says something: it is taken, or refused in a sentence."""

import json
from pathlib import Path

import pytest
import words
from hypothesis import given, settings
from hypothesis import strategies as st

from qdpg.algorithms.registry import ALGORITHMS, config_from_json, config_to_json, footprint, make_config
from qdpg.cli.export import parse_numbers
from qdpg.cli.main import join_settings
from qdpg.cli.settings import parse_settings
from qdpg.errors import UserError
from qdpg.matrix.matrix import make_matrix, parse_seeds
from qdpg.runs.config import read_config
from qdpg.runs.files import as_json, read_arrays, read_json
from qdpg.runs.logs import read_csv, read_last_row
from qdpg.runs.records import Ties, parse, read_sealed, sealed
from qdpg.tasks.registry import foreign_code, make_task

pytestmark = [pytest.mark.xdist_group("attack")]
many = settings(max_examples=150, deadline=None)
SPEC = make_task("point-maze").spec
NAMES = [
    (algorithm, name)
    for algorithm in ALGORITHMS
    for name in words.setting_names(make_config(algorithm, "tuned", SPEC, {}))
]
numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([0, -1, 1, 2**31 - 1, 2**31, 10**40, 1e30, 1e-40]))
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=8,
)


def refused(*what):
    """Call `what`; whether it says no in a sentence. Any other error is a fault."""
    try:
        what[0](*what[1:])
    except UserError:
        return True
    return False


@many
@given(st.sampled_from(NAMES), st.one_of(numbers, numbers, plain))
def test_any_value_of_any_setting(chosen, value):
    algorithm, name = chosen
    if refused(make_config, algorithm, "tuned", SPEC, {name: value}):
        return
    config = make_config(algorithm, "tuned", SPEC, {name: value})
    footprint(algorithm, SPEC, config)  # what is checked before anything is made
    assert config_from_json(algorithm, json.loads(json.dumps(config_to_json(config)))) == config


@many
@given(st.lists(st.text(max_size=30), max_size=5))
def test_any_words(line):
    refused(parse_settings, line)
    refused(parse_settings, join_settings(["train", *line, "--set", *line]))
    for word in line:
        refused(parse_seeds, word)
        refused(parse_numbers, "--cell", word, int)
        refused(parse_numbers, "--near", word, float)
        foreign_code(word)


@many
@given(st.dictionaries(st.sampled_from(["goal", "horizon", "env", "name", "", "a.b"]), plain, max_size=3))
def test_any_options_of_a_task(options):
    refused(lambda: make_task("point-maze", **options))


@many
@given(st.lists(st.text(max_size=9), max_size=3), st.lists(st.integers(), max_size=3), numbers, plain)
def test_any_comparison(names, seeds, steps, value):
    if isinstance(steps, int) and not refused(make_matrix, names, names, seeds, steps, "tuned", {"a": value}):
        refused(make_matrix(names, names, seeds, steps, "tuned", {"a": value}).plan, Path("x"))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "file"


@many
@given(st.one_of(st.binary(max_size=300), st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace"))))
def test_any_bytes_in_a_file(path, content):
    path.write_bytes(content)
    for read in (read_json, read_sealed, read_config, read_csv, read_arrays):
        refused(read, path)
    read_last_row(path)


@many
@given(st.dictionaries(st.text(max_size=12), plain, max_size=5))
def test_any_json_in_a_file(path, data):
    path.write_bytes(as_json(sealed(data)))
    if not refused(read_sealed, path):
        assert json.dumps(read_sealed(path), sort_keys=True) == json.dumps(
            {name: value for name, value in json.loads(json.dumps(data)).items() if name != "sha256"}, sort_keys=True
        )
    refused(read_config, path)
    refused(parse, Ties, data, "a file")
