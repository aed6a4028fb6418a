"""Settings of QD-PG and its ablations: Table 3, presets, and what is refused."""

from dataclasses import asdict, fields, replace

import numpy as np
import pytest

from qdpg.algorithms.qd_pg_presets import preset
from qdpg.algorithms.qd_pg_settings import SPAN, novelty_objective, quality_objective
from qdpg.algorithms.registry import ALGORITHMS, config_from_json, config_to_json, make_algorithm, make_config
from qdpg.emitters.iso_line import IsoLineShare
from qdpg.emitters.objective import Objective, SumObjective
from qdpg.errors import UserError
from qdpg.memory.visited import make_visited
from qdpg.tasks.registry import make_task

TASKS = ("point-maze", "ant-trap", "ant-maze")
ABLATIONS = {"q-pg": ("quality",), "d-pg": ("diversity",), "qd-pg-sum": ("sum",)}
OBJECTIVES = {"diversity", "quality", "sum"}
OF_NOVELTY = {"visited_size", "visited_threshold", "neighbours", "novelty"}


def test_paper_preset_is_table_3():
    point, ant = preset("paper", "point-maze"), preset("paper", "ant-trap")
    table = {
        "optimiser": ("sgd", "sgd"),
        "actor_rate": (6e-3, 3e-4),
        "critic_rate": (6e-3, 3e-4),
        "replay_size": (10**6, 5 * 10**5),
        "hidden": ((64, 32), (256, 256)),
        "batch_size": (256, 256),
        "softness": (0.005, 0.005),
        "gradient_steps_ratio": (4, 0.1),
        "visited_size": (10_000, 10_000),
        "neighbours": (10, 10),
        "cells": ((5, 5), (7, 7)),
        "population": (4, 10),
    }
    for name, (at_point, at_ant) in table.items():
        assert (getattr(point, name), getattr(ant, name)) == (at_point, at_ant), name
    for config in (point, ant):
        assert config.diversity == config.quality == Objective(discount=0.99)
        assert config.iso_line == IsoLineShare(share=0.0)
        ours = (config.greedy_steps, config.candidate_noise, config.roll_in_steps, config.stored_steps, config.scaled)
        assert not any(ours)
        assert config.output == "tanh"
    assert replace(preset("paper", "ant-maze"), visited_threshold=ant.visited_threshold) == ant


def test_policies_are_updated_every_second_critic_step_as_in_table_3():
    for name in ("qd-pg", *ABLATIONS):
        algorithm = make_algorithm(name, make_task("point-maze").spec, preset("paper", "point-maze", name), 0)
        assert [emitter.settings.delay for emitter in algorithm.emitters] == [2] * len(algorithm.emitters)
        assert {emitter.settings.discount for emitter in algorithm.emitters} == {0.99}


@pytest.mark.parametrize(("task", "threshold"), [("point-maze", 1e-4), ("ant-trap", 0.1), ("ant-maze", 0.1)])
def test_on_the_papers_tasks_the_threshold_is_table_3s(task, threshold):
    spec = make_task(task).spec
    assert SPAN[task] == np.mean(np.subtract(spec.descriptor_high, spec.descriptor_low))
    assert make_visited(spec, preset("paper", task)).threshold == pytest.approx(threshold, rel=1e-12)


@pytest.mark.parametrize("task", [*TASKS, "gym:Pendulum-v1"])
@pytest.mark.parametrize("name", ["paper", "tuned"])
@pytest.mark.parametrize("ablation", ABLATIONS)
def test_an_ablation_differs_from_qd_pg_in_its_objectives_only(name, task, ablation):
    full, ablated = preset(name, task), preset(name, task, ablation)
    own, known = ({field.name for field in fields(config)} for config in (ablated, full))
    assert OBJECTIVES & own == set(ABLATIONS[ablation])
    assert known - own == OBJECTIVES & known - own | (OF_NOVELTY if ablation == "q-pg" else set())
    for setting in own - {"sum"}:
        assert getattr(ablated, setting) == getattr(full, setting), setting
    if ablation == "qd-pg-sum":
        assert {each.name: getattr(ablated.sum, each.name) for each in fields(full.quality)} == asdict(full.quality)
        # Its one pair of critics sees the sum of what the two pairs of QD-PG see.
        seen = ablated.sum.reward_scale * ablated.sum.novelty_weight, ablated.sum.novelty_shaped
        assert seen == (pytest.approx(full.diversity.reward_scale), full.diversity.shaped)


@pytest.mark.parametrize("name", ["qd-pg", *ABLATIONS])
def test_settings_survive_being_written_down(name):
    for chosen in ("paper", "tuned"):
        for task in (*TASKS, "gym:Pendulum-v1"):
            config = make_config(name, chosen, task, {})
            assert config_from_json(name, config_to_json(config)) == config


def test_the_environments_reward_and_novelty_belong_to_the_objectives_that_have_them():
    objective = SumObjective(reward_offset=0.5, shaped=True)
    full = replace(preset("paper", "point-maze"), quality=objective)
    assert (quality_objective(full), novelty_objective(full)) == (objective, full.diversity)
    alone = preset("paper", "point-maze", "q-pg")
    assert (quality_objective(alone), novelty_objective(alone)) == (alone.quality, None)
    joined = replace(preset("paper", "point-maze", "qd-pg-sum"), sum=objective)
    assert quality_objective(joined) == objective
    assert novelty_objective(joined) == replace(objective, reward_offset=0.0, shaped=False)
    joined = replace(joined, sum=replace(objective, shaped=False, novelty_shaped=True))
    assert novelty_objective(joined).shaped
    assert quality_objective(preset("paper", "point-maze", "d-pg")) is None


@pytest.mark.parametrize(
    ("algorithm", "settings", "sentence"),
    [
        ("pga-me", {"direction_fields": 5}, "'pga-me' has no option 'direction_fields'"),
        ("dcrl-me", {"quality.shaped": True}, "'quality' of algorithm 'dcrl-me' has no option 'shaped'"),
        ("pga-me", {"noise_correlation": 0.9, "quality.exploration_episodes": 0}, "noise_correlation would do nothing"),
        ("pga-me", {"quality.action_bound": 0.5}, "policies end in a tanh"),
        ("td3", {"scale": (1.0, 1.0)}, "'td3' has no option 'scale'"),
        ("td3", {"action_bound": 2.0}, "action_bound would do nothing, since policies end in a tanh"),
        ("cem-rl", {"shaped": True}, "'cem-rl' has no option 'shaped'"),
        ("td3", {"discount": 99}, "'discount' of algorithm 'td3' must be at least 0 and at most 1, not 99"),
        ("qd-pg", {"quality.discount": 99}, "'discount' of 'quality' of .* at most 1, not 99"),
        ("qd-pg", {"discount": 0.9}, "'qd-pg' has no option 'discount'; did you mean 'quality.discount'"),
        ("qd-pg", {"actor_rate": -1}, "'actor_rate' of algorithm 'qd-pg' must be at least 0, not -1"),
        ("qd-pg", {"scaled": True}, "point-maze declares no observation_scale"),
        ("qd-pg", {"roll_in_steps": 5}, "roll_in_steps would do nothing, since there are no exploration episodes"),
        (
            "qd-pg",
            {"diversity.action_bound": 2.0},
            "diversity.action_bound would do nothing, since policies end in a tanh",
        ),
        ("qd-pg", {"diversity.exploration_noise": 0.5}, "since diversity.exploration_episodes is 0"),
        ("qd-pg", {"noise_correlation": 0.5}, "noise_correlation would do nothing, since no action has noise"),
        ("qd-pg", {"iso_line.iso_sigma": 0.5}, "iso_line.iso_sigma would do nothing, since iso_line.share is 0"),
        ("q-pg", {"diversity.discount": 0.9}, "'q-pg' has no option 'diversity'"),
        ("q-pg", {"visited_size": 9}, "'q-pg' has no option 'visited_size'"),
        ("d-pg", {"quality.discount": 0.9}, "'d-pg' has no option 'quality'"),
        ("qd-pg-sum", {"quality.discount": 0.9}, "'qd-pg-sum' has no option 'quality'"),
        ("qd-pg", {"direction_fields": 5}, "'qd-pg' has no option 'direction_fields'"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_one_sentence(algorithm, settings, sentence):
    with pytest.raises(UserError, match=sentence) as refused:
        make_algorithm(
            algorithm, make_task("point-maze").spec, make_config(algorithm, "paper", "point-maze", settings), 0
        )
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith((".", "?"))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_number_has_a_range_that_is_checked(name):
    """Only an offset of rewards, and the entropy of an action, may be anything."""
    config = config_to_json(make_config(name, "tuned", "point-maze", {}))
    parts = {f"{key}.{inner}": x for key, part in config.items() if isinstance(part, dict) for inner, x in part.items()}
    numbers = [key for key, value in (config | parts).items() if type(value) in (int, float)]
    assert len(numbers) > 3
    for key in numbers:
        if not key.endswith(("reward_offset", "entropy_per_action")):
            with pytest.raises(UserError, match=f"'{key.split('.')[-1]}' of .* must be"):
                make_config(name, "tuned", "point-maze", {key: -(10**9)})


def test_settings_that_do_nothing_are_fine_as_long_as_nobody_asks_for_them():
    config = make_config("qd-pg", "paper", "point-maze", {"diversity.action_bound": 1.0, "noise_correlation": 0.0})
    assert asdict(config) == asdict(preset("paper", "point-maze"))


def test_there_are_few_enough_settings_to_be_read():
    assert len(fields(type(preset("paper", "point-maze")))) <= 30


def test_older_runs_of_the_sum_shape_both_rewards_or_none():
    for shaped in (True, False):
        old = config_to_json(preset("tuned", "ant-maze", "qd-pg-sum"))
        old["sum"] = {"shaped": shaped, "reward_scale": 2.0}
        found = config_from_json("qd-pg-sum", old).sum
        assert (found.shaped, found.novelty_shaped, found.novelty_weight) == (shaped, shaped, 1.0)


def test_a_setting_that_has_moved_is_found_in_older_runs():
    tuned = preset("tuned", "point-maze")
    old = config_to_json(tuned)
    old["archive"].pop("parents_start")
    for judged in (True, False):
        config = config_from_json("qd-pg", old | {"parents_start": judged})
        assert config == replace(tuned, archive=replace(tuned.archive, parents_start=judged))
