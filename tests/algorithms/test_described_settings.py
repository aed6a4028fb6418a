"""Every setting of every algorithm can be listed, with what it means and where its value comes from."""

import dataclasses

import pytest

from qdpg.algorithms.registry import ALGORITHMS, make_config
from qdpg.algorithms.settings import describe_settings
from qdpg.errors import UserError
from qdpg.tasks.task import TaskSpec

UNKNOWN = TaskSpec("mine", 9, 4, 300, (-1.0,) * 4, (1.0,) * 4, (-5.0, 0.0), (5.0, 1.0))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_setting_has_its_value_and_a_meaning(name):
    for preset in ALGORITHMS[name].family.presets:
        for task in ("point-maze", "ant-trap", None):
            config = make_config(name, preset, task or UNKNOWN, {})
            described = describe_settings(name, task, preset)
            assert not [each.name for each in described if not each.meaning.endswith((".", ".)"))]
            assert _values(config) == {each.name: each.value for each in described}


def _values(config, prefix=""):
    values = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        nested = dataclasses.is_dataclass(value)
        values |= _values(value, f"{prefix}{field.name}.") if nested else {prefix + field.name: value}
    return values


def test_a_value_comes_from_the_user_the_tuning_or_the_paper():
    found = {
        each.name: each
        for each in describe_settings("qd-pg", "point-maze", settings={"population": 9, "quality.discount": 0.9})
    }
    assert found["population"][1:4] == (9, "set", 8)
    assert found["quality.discount"][1:4] == (0.9, "set", 0.99)
    assert found["batch_size"][1:4] == (100, "tuned", 256)
    assert found["neighbours"][1:4] == (10, "paper", 10)
    meaning = "K: the novelty of a state is its mean distance to so many nearest states in 𝔸 (Table 3)."
    assert found["neighbours"].meaning == meaning
    assert found["population"].idle is None
    paper = describe_settings("qd-pg", "point-maze", "paper")
    assert {each.source for each in paper} == {"paper"}
    assert {each.name: each.idle for each in paper}["archive.depth"] == "archive.reevaluations is 0"
    assert {each.source for each in describe_settings("dc-qd-pg", "ant-trap")} == {"default", "tuned"}


def test_presets_differ_by_task():
    maze, ant = (
        {each.name: each.value for each in describe_settings("qd-pg", task, "paper")}
        for task in ("point-maze", "ant-trap")
    )
    assert (maze["cells"], ant["cells"]) == ((5, 5), (7, 7))


def test_what_there_is_not_is_refused():
    with pytest.raises(UserError, match="did you mean 'qd-pg'"):
        describe_settings("qd-pgs")
    with pytest.raises(UserError, match="no option 'populaton'; did you mean 'population'"):
        describe_settings("qd-pg", settings={"populaton": 3})
    with pytest.raises(UserError, match="has no preset 'paper'"):
        describe_settings("dc-qd-pg", preset="paper")
