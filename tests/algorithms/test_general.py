"""Settings for tasks that no preset names."""

from dataclasses import replace

import numpy as np
import pytest
from small import advance

from qdpg.algorithms.general import GENERAL
from qdpg.algorithms.pieces import count_cells
from qdpg.algorithms.registry import config_from_json, config_to_json, make_algorithm, make_config, name_algorithm
from qdpg.learn.directions import Movement
from qdpg.learn.networks import flatten_population
from qdpg.memory.reevaluated import ArchiveSettings
from qdpg.play.player import make_player
from qdpg.tasks import make_task

HOPPER = make_task("hopper-uni", horizon=40)
TINY = {"hidden": (8, 8), "batch_size": 8}
FEW = TINY | {"initial_policies": 4, "greedy_steps": 3}
ALONE = TINY | {"start_steps": 20, "gradient_steps_ratio": 0.02}
SETTINGS = {
    "dc-qd-pg": FEW | {"gradient_steps_ratio": 0.02},
    "qd-pg": FEW | {"gradient_steps_ratio": 0.02},
    "pga-me": FEW | {"critic_steps": 6},
    "dcrl-me": FEW | {"critic_steps": 6},
    "td3": ALONE,
    "sac": ALONE,
}


@pytest.mark.parametrize("name", GENERAL)
def test_settings_come_from_the_spec_and_not_from_the_name(name):
    renamed = replace(HOPPER.spec, name="something else")
    config = make_config(name, "tuned", HOPPER.spec, {})
    assert config == make_config(name, "tuned", renamed, {})
    assert config_from_json(name, config_to_json(config)) == config
    two = make_config(name, "tuned", replace(renamed, descriptor_low=(0.0,) * 2, descriptor_high=(1.0,) * 2), {})
    if name in ("td3", "sac"):  # one policy
        return
    assert count_cells(config.cells) == 50
    assert count_cells(two.cells) == 100


def test_the_papers_tasks_keep_presets_of_their_own():
    for name in GENERAL:
        for task in ("point-maze", "ant-trap"):
            assert make_config(name, "tuned", make_task(task).spec, {}) == make_config(name, "tuned", task, {})


def test_elites_must_last_alike_for_every_algorithm_that_has_an_archive():
    archives = {
        name: make_config(name, "tuned", HOPPER.spec, {}).archive for name in GENERAL if name not in ("td3", "sac")
    }
    assert len(archives) == 10
    assert set(archives.values()) == {ArchiveSettings(reevaluations=1.0, full_after=4.0)}
    assert make_config("map-elites", "tuned", "point-maze", {}).archive == ArchiveSettings()


def test_only_our_own_algorithms_screen_their_variation():
    screened = {
        name: make_config(name, "tuned", HOPPER.spec, {}).iso_line.screened_from for name in ("qd-pg", "dc-qd-pg")
    }
    assert screened == {"qd-pg": 10, "dc-qd-pg": 10}
    assert make_config("pga-me", "tuned", HOPPER.spec, {}).iso_line.screened_from == 1


def test_who_names_no_algorithm_gets_the_better_one_or_the_papers():
    assert [name_algorithm(None, preset) for preset in ("tuned", "paper")] == ["dc-qd-pg", "qd-pg"]
    assert name_algorithm("td3", "paper") == "td3"


def test_only_where_behaviours_are_places_does_anybody_navigate():
    place = make_task("ant-trap").spec
    for spec, number in [
        (replace(place, name="mine"), 3),
        (replace(place, name="mine", located=()), 0),
        (replace(place, name="mine", behaviour="mean"), 0),
        (HOPPER.spec, 0),
    ]:
        assert make_config("dc-qd-pg", "tuned", spec, {}).navigation_fields == number


MARKS = {"td3": [], "dc-qd-pg": [pytest.mark.long]}


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, [pytest.mark.slow])) for name in SETTINGS])
def test_a_general_default_learns_what_its_networks_see_and_resumes_exactly(name):
    config = make_config(name, "tuned", HOPPER.spec, SETTINGS[name])
    player = make_player(HOPPER)
    whole, first, second = (make_algorithm(name, HOPPER.spec, config, 3) for _ in range(3))
    advance(whole, player, 3)
    advance(first, player, 2)
    second.load(first.state())
    rows = first.replay.since(0)
    second.replay.insert_rows(rows["rows"], rows["descriptors"], rows["is_playable"])
    second.replay.index()
    advance(second, player)
    assert whole.networks.stats.number > 0
    assert (whole.networks.scale != 1).any()
    vectors = [flatten_population(each.ask().candidates.policies) for each in (whole, second)]
    np.testing.assert_array_equal(*vectors)
    for key, array in whole.state().items():
        np.testing.assert_array_equal(second.state()[key], array, err_msg=key)


def test_where_behaviour_is_a_mean_directions_move_the_mean():
    """Foot contact is 0 or 1: a step that keeps the foot down gains the same as the one that put it there."""
    movement = Movement(((0.0, 1.0),), of_mean=True)
    before, after = np.array([[0.0], [1.0], [1.0]]), np.array([[1.0], [1.0], [0.0]])
    assert movement.gain(before, after).ravel().tolist() == [1.0, 1.0, -1.0]
    assert Movement(((0.0, 1.0),)).gain(before, after).ravel().tolist() == [2.0, 0.0, -2.0]
    assert Movement().gain(before, after).ravel().tolist() == [1.0, 0.0, -1.0]
