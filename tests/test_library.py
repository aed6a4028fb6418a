"""qdpg as a library: what a user reads in its docstrings runs, and does what it says."""

import doctest
import importlib
import os
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import numpy as np
import pytest

import qdpg
from qdpg.algorithms.registry import config_to_json
from qdpg.runs.training import plan_run
from qdpg.tasks.naming import name_task
from qdpg.tasks.point_maze import PointMaze

DOCUMENTED = {  # in the order of a user's first steps: later ones use what earlier ones trained
    "qdpg": "qdpg",
    "train": "qdpg.runs.training",
    "Run": "qdpg.runs.run",
    "Collection": "qdpg.runs.collection",
    "make_algorithm": "qdpg.algorithms.make",
    "make_task": "qdpg.tasks.registry",
    "check_task": "qdpg.tasks.check",
    "make_player": "qdpg.play.player",
    "describe_settings": "qdpg.algorithms.settings",
    "load_run": "qdpg.runs.run",
    "Policy": "qdpg.runs.policy",
    "adapt": "qdpg.adaptation.search",
    "evaluate": "qdpg.evaluation.evaluate",
    "export": "qdpg.exports.export",
    "plot": "qdpg.report.plot",
    "verify": "qdpg.evaluation.verify",
    "callbacks.Callback": "qdpg.runs.callbacks",
    "callbacks.EarlyStopping": "qdpg.runs.callbacks",
    "callbacks.OptunaPruning": "qdpg.runs.pruning",
    "callbacks.WandbTracker": "qdpg.runs.tracking",
    "callbacks.MLflowTracker": "qdpg.runs.tracking",
}
WITHOUT = {"Adaptation", "DivergedError", "RayEngine", "UserError", "__version__", "callbacks"}  # shown by others
SMALL = {"population": 5, "initial_policies": 5, "hidden": (8, 8)}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A user's directory."""
    before, directory = os.getcwd(), tmp_path_factory.mktemp("user")
    os.chdir(directory)
    yield directory
    os.chdir(before)


@pytest.fixture(scope="module")
def run(here):
    """A small run."""
    return qdpg.train("point-maze", "map-elites", steps=6000, seed=1, out=here / "small", **SMALL)


def run_examples(name, module):
    """Run what the docstring of a name shows."""
    found = importlib.import_module(module)
    shown = found if name == "qdpg" else getattr(found, name.split(".")[-1])
    tests = doctest.DocTestFinder(recurse=False).find(shown, name, module=found)
    assert sum(len(test.examples) for test in tests), f"{name} has no example"
    for test in tests:
        assert not doctest.DocTestRunner().run(test).failed, name


def test_examples_in_docstrings_run(here):
    for name, module in DOCUMENTED.items():
        run_examples(name, module)


@pytest.mark.slow
def test_the_example_of_a_comparison_runs(here):
    run_examples("compare", "qdpg.matrix.compare")


def test_everything_public_has_an_example_that_is_run():
    public = {*qdpg.__all__, *(f"callbacks.{name}" for name in qdpg.callbacks.__all__)}
    parts = {"callbacks.CallbackError", "callbacks.Row", "callbacks.Training"}  # what callbacks get
    assert public - parts - WITHOUT == {*DOCUMENTED, "compare"} - {"qdpg"}


def test_the_package_shows_what_it_offers_and_no_more():
    assert dir(qdpg) == sorted(qdpg.__all__)
    for name in qdpg.__all__:
        assert getattr(qdpg, name) is not None
        assert name == "__version__" or (getattr(qdpg, name).__doc__ or "").strip()
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        qdpg.trian  # noqa: B018


def test_the_types_of_everything_public_are_checked_strictly():
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    (strict,) = (each["module"] for each in settings if each.get("disallow_any_generics"))
    public = {getattr(qdpg, name).__module__ for name in qdpg.__all__ if name not in ("__version__", "callbacks")}
    assert public <= {*strict}


def test_training_again_gives_the_same_run_however_it_was_asked_for(run, here):
    again = qdpg.train(PointMaze(), "map-elites", steps=6000, seed=1, out=here / "again", **SMALL)
    assert again.config == run.config
    for name, column in again.episodes().items():
        np.testing.assert_array_equal(column, run.episodes()[name])
    in_two = qdpg.train("point-maze", "map-elites", steps=3000, seed=1, out=here / "two", **SMALL).resume(6000)
    assert in_two.config == run.config
    for name, array in in_two.elites.arrays.items():
        np.testing.assert_array_equal(array, run.elites.arrays[name])


def test_numbers_that_python_writes_as_fractions_are_whole_too(run, here):
    """A run that was told 3e3 steps must open again."""
    again = qdpg.train("point-maze", "map-elites", 3e3, np.int64(1), here / "whole", **SMALL).resume(6e3)
    assert again.config == run.config
    with pytest.raises(qdpg.UserError, match="must be a whole number"):
        again.resume(6500.5)
    assert qdpg.evaluate(here / "whole", episodes=2.0, seed=1.0).summary["episodes"] == 2
    assert qdpg.load_run(here / "whole").config == run.config


def test_what_is_printed_of_objects_fits_a_line(run):
    assert repr(run) == f"<Run '{run.path}': point-maze, map-elites, seed 1>"
    best = run.elites.best()
    assert repr(run.elites) == f"<Collection: point-maze, policies {len(run.elites)}, best {best.fitness:.6g}>"
    assert repr(best).startswith(f"<Policy: layers [2, 8, 8, 2], cell {best.cell}, fitness {best.fitness:.6g}, behav")


def test_tables_become_data_frames(run):
    for table in (run.metrics(), run.episodes(), run.evaluations()):
        frame = table.to_pandas()
        assert list(frame.columns) == list(table)
        assert len(frame) == len(table["steps"]) > 0


def test_show_prints_and_summary_returns(run, capsys):
    run.show()
    assert "map-elites, preset tuned, seed 1" in capsys.readouterr().out
    assert run.summary()["steps"] == 6000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"task": "point-mase"}, "did you mean 'point-maze'"),
        ({"algorithm": "map-elite"}, "did you mean 'map-elites'"),
        ({"steps": 0}, "must be at least 1"),
        ({"steps": 2.5}, "must be a whole number"),
        ({"steps": "1e3"}, "must be a whole number"),
        ({"seed": -1}, "must be at least 0"),
        ({"seed": 1.5}, "must be a whole number"),
        ({"checkpoint_seconds": -1.0}, "must be at least 0"),
        ({"task": None}, "neither a task nor the name of one"),
        ({"task": PointMaze}, "neither a task nor the name of one"),
        ({"algorithm": dict}, "'builtins:dict' is no algorithm"),
        ({"callbacks": None}, "must be a list of callbacks"),
        ({"callbacks": qdpg.callbacks.EarlyStopping()}, "must be a list of callbacks"),
        ({"populaton": 3}, "did you mean 'population'"),
        ({"callbacks": [print]}, "is not a callback"),
        ({"task_options": {"horizn": 3}}, "did you mean 'horizon'"),
        ({"task": PointMaze(), "task_options": {"horizon": 3}}, "takes no task_options"),
        (
            {"task": "gym:Pendulum-v1", "task_options": {"descriptor": 0, "low": -1, "high": 1}, "until_solved": True},
            "until",
        ),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing_behind(arguments, sentence, tmp_path):
    given = {"task": "point-maze", "algorithm": "map-elites", "out": tmp_path / "run"} | arguments
    with pytest.raises(qdpg.UserError, match=sentence):
        qdpg.train(**given)
    assert not (tmp_path / "run").exists()


def test_ctrl_c_saves_first(here):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests in the background ignores it

    class Interrupt(qdpg.callbacks.Callback):
        def on_generation(self, training, row):
            if row["generation"] == 2:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        qdpg.train("point-maze", "map-elites", steps=6000, seed=1, out=here / "cut", callbacks=[Interrupt()], **SMALL)
    found = qdpg.load_run(here / "cut")
    assert found.elites.about["steps"] == found.metrics()["steps"][-1] == 2000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_trains_in_a_thread(here):
    done = []
    arguments = {"steps": 2000, "out": here / "thread", **SMALL}
    thread = threading.Thread(target=lambda: done.append(qdpg.train("point-maze", "map-elites", **arguments)))
    thread.start()
    thread.join()
    assert done[0].metrics()["steps"][-1] == 2000


def test_a_loop_of_ones_own_learns_what_train_learns(run):
    task = qdpg.make_task("point-maze")
    algorithm, player = qdpg.make_algorithm("map-elites", task, seed=1, **SMALL), qdpg.make_player(task)
    while algorithm.steps < 6000:
        generation = algorithm.ask()
        algorithm.tell(generation, generation.play(player))
    np.testing.assert_array_equal(algorithm.elites.data()["objective"], run.elites.fitness)


def test_an_algorithm_on_its_own_has_the_settings_that_train_would_give_it():
    """For tasks that no preset names, these are derived from the task."""
    hopper = qdpg.make_task("hopper-uni")
    made = qdpg.make_algorithm("map-elites", "hopper-uni")
    _, planned = plan_run("hopper-uni", {}, "map-elites", "tuned", {}, 0, 1000, None, False)
    assert config_to_json(made.config) == planned.config
    described = {each.name: each.value for each in qdpg.describe_settings("map-elites", "hopper-uni")}
    assert described["cells"] == made.config.cells
    assert described == {each.name: each.value for each in qdpg.describe_settings("map-elites", hopper)}


def test_an_evolution_strategy_gets_its_player():
    algorithm = qdpg.make_algorithm("ns-es", "point-maze", pairs=4, hidden=(8, 8))
    generation = algorithm.ask()
    algorithm.tell(generation, generation.play(algorithm.player))
    assert algorithm.ask().tried.episodes == 8


class OwnMaze(PointMaze):
    """A task in this file."""


def test_a_task_is_named_so_that_it_can_be_made_again():
    assert name_task(PointMaze(horizon=30)) == ("point-maze", {"horizon": 30})
    pendulum = qdpg.make_task("gym:Pendulum-v1", descriptor=(0, 1), low=(-1.0, -1.0), high=(1.0, 1.0))
    options = {"descriptor": (0, 1), "low": (-1.0, -1.0), "high": (1.0, 1.0)}
    assert name_task(pendulum) == ("gym:Pendulum-v1", options)
    name, options = name_task(OwnMaze(goal=(0.1, 0.2)))
    assert (name, options) == ("test_library:OwnMaze", {"goal": (0.1, 0.2)})
    assert qdpg.make_task(name, **options) == OwnMaze(goal=(0.1, 0.2))

    class Hidden(PointMaze):
        pass

    with pytest.raises(qdpg.UserError, match="in no file that can be imported"):
        name_task(Hidden())


SCRIPT = """
import qdpg
from qdpg.algorithms.map_elites import Config, MapElites
from qdpg.tasks.point_maze import PointMaze

class Maze(PointMaze):
    pass

class Mine(MapElites):
    Config = Config

print("run")
run = qdpg.train(Maze(horizon=20), Mine, 100, out="run", population=2, initial_policies=2, hidden=(4,))
print(run.config["task"], run.config["algorithm"])
"""


def test_a_script_is_not_run_again_for_the_classes_in_it(tmp_path):
    (tmp_path / "own_script.py").write_text(SCRIPT)
    command = [sys.executable, "own_script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.split() == ["run", "own_script:Maze", "own_script:Mine"], done.stderr
