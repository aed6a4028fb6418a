"""Runs that were made to hurt, their digests right: one sentence that names the file, whoever looks at them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import strangers
from victims import MORE, SMALL, files_of

import qdpg
from qdpg.cli.settings import parse_settings, split_settings
from qdpg.errors import DamagedError, UntrustedError, UserError
from qdpg.evaluation.evaluate import evaluate
from qdpg.matrix.compare import compare
from qdpg.matrix.matrix import PlannedRun, make_matrix
from qdpg.matrix.progress import Progress, is_finished, read_progress
from qdpg.matrix.record import write_matrix
from qdpg.report.write import write_report
from qdpg.runs.files import read_arrays, write_arrays
from qdpg.runs.run import load_run
from qdpg.tasks.registry import make_task

pytestmark = [pytest.mark.xdist_group("attack")]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("strangers") / "run"
    options, settings = split_settings(parse_settings(SMALL))
    qdpg.train("point-maze", "map-elites", MORE, out=path, task_options=options, **settings)
    evaluate(path, episodes=2)
    return path


@pytest.fixture
def victim(trained, tmp_path):
    return Path(shutil.copytree(trained, tmp_path / "run"))


def change(path, **values):
    """Give fields of a JSON file other values; "a.b" is a field of a field, None takes it away."""
    data = json.loads(path.read_text())
    for name, value in values.items():
        *parts, last = name.split("__")
        holder = data
        for part in parts:
            holder = holder[part]
        if value is None:
            del holder[last]
        else:
            holder[last] = value
    path.write_text(json.dumps(data))


def change_table(path, old, new):
    path.write_text(path.read_text().replace(old, new, 1))


def look(path):
    """All that looks at a run without playing."""
    run = load_run(path)
    run.show()
    elites = run.elites
    elites.archive()
    elites.archive(corrected=True)
    return run


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"share_own_cell": "=HYPERLINK(1)"}, "share_own_cell"),
        ({"tables": 1}, "tables"),
        ({"corrected": None}, "corrected"),
        ({"corrected__cells": 0.5}, "cells"),
        ({"best__mean": float("nan")}, "mean"),
        ({"best": [1]}, "best"),
        ({"episodes": "many"}, "episodes"),
        ({"extra": 1}, "extra"),
    ],
)
def test_evaluated_json_is_a_typed_record(victim, values, word):
    change(victim / "elites" / "evaluated.json", **values)
    strangers.reseal(victim)
    with pytest.raises(DamagedError, match=rf"evaluated\.json is damaged.*{word}"):
        look(victim)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"cells": [4, 4, 4]}, "another task"),
        ({"cells": [1, 1]}, "cells that there are not"),
        ({"cells": 0}, "cells"),
        ({"policy__sizes": [2]}, "sizes"),
        ({"policy__sizes": [2, 8, 8, 1]}, "sizes"),
        ({"policy__output": "gaussian"}, "sizes"),
        ({"policies": 10**9}, "index"),
        ({"archive_seed": -1}, "archive_seed"),
        ({"noise_correlation": float("inf")}, "noise_correlation"),
        ({"steps": "x"}, "steps"),
        ({"emitters": 5}, "emitters"),
    ],
)
def test_elites_json_is_a_typed_record(victim, values, word):
    change(victim / "elites" / "elites.json", **values)
    strangers.reseal(victim)
    with pytest.raises(DamagedError, match=word):
        look(victim)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("index", lambda array: array + 10**6),
        ("index", lambda array: array - 10**6),
        ("index", lambda array: array[::-1]),
        ("index", lambda array: array.astype(np.float64)),
        ("seed", lambda array: array.astype(np.float32)),
        ("seed", lambda array: -array - 1),
        ("fitness", lambda array: array * np.nan),
        ("behaviour", lambda array: array[:, :1]),
        ("weight_0", lambda array: array.swapaxes(1, 2)),
        ("length", lambda array: array > 0),
    ],
)
def test_arrays_of_elites_fit_their_description(victim, name, make):
    path = victim / "elites" / "elites.safetensors"
    held = dict(read_arrays(path))
    write_arrays(path, held | {name: make(held[name])})
    strangers.reseal(victim)
    with pytest.raises(DamagedError, match=f"'{name}'"):
        look(victim)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("metrics.csv", "generation,steps", "generation,step"),
        ("metrics.csv", "best_fitness", "x"),
        ("metrics.csv", "\n", "\n\n"),
        ("metrics.csv", "generation", "\n"),
        ("metrics.csv", "\n1,", "\nnan,"),
        ("metrics.csv", "\n1,", "\n1e400,"),
        ("episodes.csv", "fitness", "x"),
        ("elites/evaluated.csv", "mean_x", "y"),
    ],
)
def test_tables_have_their_columns_and_their_numbers(victim, name, old, new):
    change_table(victim / name, old, new)
    strangers.reseal(victim)
    with pytest.raises(UserError, match=Path(name).name):
        look(victim).episodes()


def test_an_evaluation_of_other_episodes_is_begun_anew(victim):
    path = victim / "elites" / "evaluated-episodes.csv"
    before = path.read_text()
    for change_it in (lambda text: text + text.partition("\n")[2] * 3, lambda text: text.replace("cell", "sell", 1)):
        path.write_text(change_it(before))
        strangers.reseal(victim)
        assert evaluate(victim, episodes=2).summary["episodes"] == 2
        assert path.read_text() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"horizon": 10**30},
        {"action_size": 0},
        {"descriptor_low": [float("nan"), 0.0]},
        {"descriptor_names": ["x"]},
        {"floor__low": [float("inf"), 0.0]},
        {"fitness_floor": float("nan")},
    ],
)
def test_the_contract_of_a_task_whose_code_is_not_trusted_is_checked(victim, changes):
    spec = json.loads((victim / "elites" / "elites.json").read_text())["spec"]
    change(victim / "config.json", task="payload:Own")
    change(victim / "manifest.json", outline={"spec": spec, "arithmetic": "jax"})
    change(victim / "manifest.json", **{f"outline__spec__{name}": value for name, value in changes.items()})
    strangers.reseal(victim)
    with pytest.raises(DamagedError, match=r"manifest\.json is damaged"):
        load_run(victim)


@pytest.mark.parametrize("row", ["a,b\n1,2\n", "steps,seconds,best_fitness\ninf,1,2\n", "steps\nnan\n"])
def test_progress_of_a_damaged_run_is_not_known(tmp_path, row):
    (tmp_path / "metrics.csv").write_text(row)
    assert read_progress(PlannedRun(tmp_path, None, None)) == Progress()


def test_a_comparison_with_a_link_in_it_is_not_gone_on_with(tmp_path):
    outside, out = tmp_path / "outside", tmp_path / "comparison"
    outside.mkdir()
    out.mkdir()
    (out / "point-maze").symlink_to(outside)
    with pytest.raises(DamagedError, match="is a link"):
        compare(out, ["point-maze"], ["map-elites"], 1, 40, quiet=True)
    assert not any(outside.iterdir())


def test_a_report_is_not_written_through_links(victim, tmp_path):
    outside, out = tmp_path / "outside", tmp_path / "report"
    outside.mkdir()
    out.mkdir()
    (out / "tables").symlink_to(outside)
    with pytest.raises(DamagedError, match="is a link"):
        write_report([victim], out)
    assert not any(outside.iterdir())


def test_a_copy_that_shares_its_files_stays_as_it_is(trained, tmp_path):
    """As `cp -al` and some backups make them."""
    copy = tmp_path / "copy"
    shutil.copytree(trained, copy, copy_function=lambda old, new: Path(new).hardlink_to(old))
    before = files_of(trained)
    load_run(copy).resume(steps=MORE + 200)
    evaluate(copy, episodes=3)
    assert files_of(trained) == before
    assert files_of(copy) != before


@pytest.mark.parametrize("options", [{"env": "payload:Own-v0"}, {"kwargs": {"xml_file": "payload/robot.xml"}}])
@pytest.mark.parametrize("name", ["gym:Pendulum-v1", "gym:Ant-v5"])
def test_options_of_a_task_import_nothing_either(victim, tmp_path, monkeypatch, name, options):
    strangers.set_traps(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    change(victim / "config.json", task=name, task_options=options)
    strangers.reseal(victim)
    run = load_run(victim)
    with pytest.raises(UserError, match=r"'env' away|add --trust"):
        _ = run.task
    for outcome in (run.show, lambda: write_report([victim], tmp_path / "report"), lambda: run.resume(steps=MORE)):
        with pytest.raises(UserError):
            outcome()
    assert not strangers.is_sprung(tmp_path)


def test_settings_of_a_strangers_comparison_open_nothing(tmp_path):
    settings = {"task.kwargs.xml_file": "x/robot.xml"}
    matrix = make_matrix(["gym:Ant-v5"], ["map-elites"], [0], 40, "tuned", settings)
    write_matrix(tmp_path, matrix)
    with pytest.raises(UntrustedError, match=r"robot\.xml"):
        compare(tmp_path, quiet=True)


@pytest.mark.parametrize("name", ["<img src=x>", "=1+1", "{alert(1)}", "a`b", "", "x" * 400, "-rf", "[red]x[/red]"])
@pytest.mark.parametrize("field", ["task", "algorithm", "preset"])
def test_names_in_a_run_are_names(victim, field, name):
    change(victim / "config.json", **{field: name})
    strangers.reseal(victim)
    with pytest.raises(DamagedError, match=rf"config\.json is damaged: '{field}'"):
        load_run(victim)


@pytest.mark.parametrize("name", ["<iframe srcdoc=x>", "![](http://x)", "\x1b[31m", "x" * 300])
def test_names_that_options_give_are_names_too(name):
    options = {"descriptor": [0, 1], "low": [-1, -1], "high": [1, 1]}
    for option in ({"name": name}, {"descriptor_names": [name, "y"]}):
        with pytest.raises(UserError, match="plain words"):
            make_task("gym:Pendulum-v1", **options, **option)


@pytest.mark.parametrize("name", ["metrics.csv", "elites/elites.json", "elites/elites.safetensors", ".lock", "elites"])
def test_files_and_directories_are_not_taken_for_each_other(victim, name):
    path = victim / name
    if path.is_dir():
        shutil.rmtree(path)
        path.write_text("")
    else:
        path.unlink(missing_ok=True)
        path.mkdir()
    before = files_of(victim)
    with pytest.raises(DamagedError, match=rf"{name} is a (file|directory), but should be"):
        load_run(victim).resume(steps=MORE + 200)
    assert files_of(victim) == before


@pytest.mark.parametrize("name", ["metrics.csv", "elites/elites.safetensors", "elites/elites.json", "manifest.json"])
def test_a_damaged_run_of_a_comparison_is_not_called_finished(victim, name):
    planned = PlannedRun(victim, load_run(victim).settings, None)
    assert is_finished(planned)
    content = bytearray((victim / name).read_bytes())
    content[-3] ^= 1
    (victim / name).write_bytes(bytes(content))
    assert not is_finished(planned)


def test_options_that_a_built_in_task_does_not_have_are_refused_whatever_the_manifest_says(victim, tmp_path):
    spec = json.loads((victim / "elites" / "elites.json").read_text())["spec"]
    change(victim / "config.json", task_options={"descriptor": 1})
    change(victim / "manifest.json", outline={"spec": spec, "arithmetic": "jax"})
    strangers.reseal(victim)
    for look_at_it in (lambda: write_report([victim], tmp_path / "report"), lambda: load_run(victim).show()):
        with pytest.raises(UserError, match="no option 'descriptor'"):
            look_at_it()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_state_that_is_not_finite_is_not_gone_on_from(victim, value):
    for path in victim.glob("checkpoints/*/state.safetensors"):
        held = dict(read_arrays(path))
        write_arrays(path, held | {"elites/measures": held["elites/measures"] * 0 + value})
    strangers.reseal(victim)
    before = files_of(victim)
    with pytest.raises(UserError, match="'elites/measures' is not finite"):
        load_run(victim).resume(steps=MORE + 200)
    assert files_of(victim) == before | {name: files_of(victim)[name] for name in files_of(victim) if ".lock" in name}
