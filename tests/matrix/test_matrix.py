"""What a matrix asks for, how it may grow, and how cores and time are shared out."""

import dataclasses
import json
import math
from pathlib import Path

import pytest

from qdpg.algorithms.registry import ALGORITHMS
from qdpg.errors import UserError
from qdpg.matrix.child import find_error, share_cores
from qdpg.matrix.matrix import extend, make_matrix, parse_seeds
from qdpg.matrix.overview import describe, summarise
from qdpg.matrix.progress import Progress, Totals, is_finished, seconds_left
from qdpg.matrix.record import read_matrix, write_matrix
from qdpg.runs.logs import CsvLog, read_last_row
from qdpg.runs.run import create_run

OLD = make_matrix(
    ("point-maze",), ("td3", "map-elites"), (0, 1), 1000, "tuned", {"hidden": (8, 8), "td3.start_steps": 1}
)


@pytest.mark.parametrize(
    ("text", "seeds"), [("3", (0, 1, 2)), ("0,1,5", (0, 1, 5)), ("2-4", (2, 3, 4)), ("7-7,1", (7, 1))]
)
def test_seeds_are_a_number_or_a_list(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "1,", "-1", "3-1", "0", "1 2", "0-100000", "1.5"])
def test_other_seeds_are_refused(text):
    with pytest.raises(UserError, match="--seeds"):
        parse_seeds(text)


def test_all_algorithms():
    assert make_matrix(("point-maze",), ("all",), (0,), 10, "tuned", {}).algorithms == tuple(ALGORITHMS)


def test_settings_go_where_they_belong():
    settings = {"task.horizon": 9, "hidden": [4, 4], "td3.start_steps": 7, "td3.hidden": [5, 5]}
    matrix = make_matrix(("point-maze",), ("td3", "map-elites"), (0, 1), 1000, "tuned", settings)
    runs = matrix.plan(Path("out"))
    assert [str(run.path) for run in runs] == [
        f"out/point-maze/{name}/seed-{seed}" for seed in (0, 1) for name in ("td3", "map-elites")
    ]
    td3, map_elites = runs[0].config, runs[1].config
    assert td3.config["hidden"] == (5, 5)
    assert td3.config["start_steps"] == 7
    assert map_elites.config["hidden"] == (4, 4)
    assert td3.task_options == map_elites.task_options == {"horizon": 9}
    assert all(run.footprint.memory > 0 for run in runs)


def test_a_matrix_may_grow():
    bigger = dataclasses.replace(OLD, algorithms=("sac", "map-elites", "td3"), seeds=(2, 1, 0))
    bigger = dataclasses.replace(bigger, settings=OLD.settings | {"sac.start_steps": 2})
    grown = extend(OLD, bigger, Path("out"))
    assert grown.algorithms == ("td3", "map-elites", "sac")
    assert grown.seeds == (0, 1, 2)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"steps": 2000}, "begun with --steps 1000, not 2000"),
        ({"preset": "paper"}, "begun with --preset tuned, not paper"),
        ({"seeds": (0, 2)}, "--seeds that now lack 1"),
        ({"algorithms": ("td3",)}, "--algorithms that now lack map-elites"),
        ({"settings": {"hidden": [8, 8]}}, "other settings of td3"),
        ({"settings": {**OLD.settings, "task.horizon": 3}}, "other settings of td3"),
    ],
)
def test_a_matrix_may_not_contradict_what_was_begun(changes, sentence):
    with pytest.raises(UserError, match=sentence):
        extend(OLD, dataclasses.replace(OLD, **changes), Path("out"))


def test_a_matrix_is_read_as_it_was_written(tmp_path):
    assert read_matrix(tmp_path) is None
    write_matrix(tmp_path, OLD)
    assert read_matrix(tmp_path) == OLD


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 2}', '{"format": 1}'])
def test_a_damaged_matrix_is_one_sentence(tmp_path, content):
    (tmp_path / "compare.json").write_text(content)
    with pytest.raises(UserError, match=r"compare\.json"):
        read_matrix(tmp_path)


@pytest.mark.parametrize(
    ("cores", "runs", "jobs", "threads", "shares"),
    [
        (2, 9, None, None, [(0,), (1,)]),
        (2, 1, None, None, [(0, 1)]),
        (2, 0, None, None, [(0, 1)]),
        (2, 9, 1, None, [(0, 1)]),
        (4, 9, None, 2, [(0, 1), (2, 3)]),
        (5, 9, 2, None, [(0, 2, 4), (1, 3)]),
        (4, 9, 2, 1, [(0,), (1,)]),
        (2, 9, 3, None, [(0,), (1,), (0,)]),
        (2, 9, 2, 2, [(0, 1), (0, 1)]),
    ],
)
def test_cores_are_shared_out(cores, runs, jobs, threads, shares):
    assert share_cores(range(cores), runs, jobs, threads) == shares


def test_time_left():
    td3_0, map_elites_0, td3_1, map_elites_1 = OLD.plan(Path("out"))
    assert math.isnan(seconds_left([td3_0], [], {}, 2))
    progress = {td3_0: Progress(500, 50.0), map_elites_0: Progress(1000, 20.0)}
    # TD3 takes 0.1 s a step, MAP-Elites 0.02.
    assert seconds_left([td3_1, map_elites_1], [td3_0], progress, 1) == pytest.approx(50 + 100 + 20)
    assert seconds_left([td3_1, map_elites_1], [td3_0], progress, 2) == pytest.approx(100)  # TD3 alone takes that long
    del progress[td3_0]
    assert seconds_left([td3_1], [], progress, 1) == pytest.approx(20)


def test_what_is_shown():
    assert describe(Progress(), Progress()) == "starting"
    assert describe(Progress(100, 4.0, -3.5), Progress(100, 4.0)) == "25 steps/s  best -3.5"
    assert describe(Progress(200, 5.0, -3.5), Progress(100, 4.0)) == "100 steps/s  best -3.5"
    assert describe(Progress(200, 5.0, -3.5), Progress(100, 4.0), "far") == "100 steps/s  best -3.5  on far"
    assert summarise(Totals(6, 2, 1, 10, 60, 3700.2)) == "2 of 6 runs finished, 1 failed, about 1:01:40 left"
    assert summarise(Totals(1, 0, 0, 0, 60, math.nan)) == "0 of 1 run finished"


def test_finished_means_that_the_elites_are_written(tmp_path):
    run = OLD.plan(tmp_path)[0]
    assert not is_finished(run)
    create_run(run.path, run.config)
    assert not is_finished(run)
    (run.path / "elites").mkdir(parents=True)
    for steps, finished in ((999, False), (1000, True), (1040, True)):
        (run.path / "elites" / "elites.json").write_text(json.dumps({"steps": steps}))
        assert is_finished(run) == finished


def test_the_last_row_of_a_log(tmp_path):
    path = tmp_path / "log.csv"
    assert read_last_row(path) is None
    log = CsvLog(path)
    log.append([{"steps": n, "x": 0.1 * n, "text": ""} for n in range(20_000)])  # longer than what is read
    with path.open("a") as file:
        file.write("20000,0.")  # half-way through a row
    row = read_last_row(path)
    assert math.isnan(row.pop("text"))
    assert row == {"steps": 19_999, "x": 0.1 * 19_999}
    path.write_text("steps,x\n")
    assert read_last_row(path) is None


def test_the_error_in_what_a_process_printed():
    trace = "Traceback (most recent call last):\n  File 'a', line 1\n    f()\n"
    assert find_error(f"100 steps\n{trace}KeyError: 1\n\nDuring …\n\n{trace}ValueError: 2\n----\nremark\n") == (
        "ValueError: 2"
    )
    assert find_error("100 steps\nqdpg: no room.\n") == "no room."
    assert find_error("100 steps\nSegmentation fault\n") == "Segmentation fault"
    assert find_error("\n") is None
