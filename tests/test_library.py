"""qdpg as a library: what a user reads in its docstrings runs, and does what it says."""

import doctest
import importlib
import os
import signal
import threading

import numpy as np
import pytest

import qdpg
from qdpg.tasks.naming import name_task
from qdpg.tasks.point_maze import PointMaze

DOCUMENTED = {  # in the order of a user's first steps: later ones use what earlier ones trained
    "qdpg": "qdpg",
    "train": "qdpg.runs.training",
    "Run": "qdpg.runs.run",
    "Collection": "qdpg.runs.collection",
    "make_algorithm": "qdpg.algorithms.make",
    "make_task": "qdpg.tasks.registry",
    "describe_settings": "qdpg.algorithms.settings",
    "callbacks.Callback": "qdpg.runs.callbacks",
    "callbacks.EarlyStopping": "qdpg.runs.callbacks",
    "callbacks.OptunaPruning": "qdpg.runs.pruning",
    "callbacks.WandbTracker": "qdpg.runs.tracking",
    "callbacks.MLflowTracker": "qdpg.runs.tracking",
}
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


def test_examples_in_docstrings_run(here):
    runner = doctest.DocTestRunner()
    for name, module in DOCUMENTED.items():
        found = importlib.import_module(module)
        for part in name.split(".")[-1:]:
            found = getattr(found, part) if name != "qdpg" else found
        tests = doctest.DocTestFinder(recurse=False).find(found, name, module=importlib.import_module(module))
        assert sum(len(test.examples) for test in tests), f"{name} has no example"
        for test in tests:
            assert not runner.run(test).failed, name


def test_the_package_shows_what_it_offers_and_no_more():
    assert dir(qdpg) == sorted(qdpg.__all__)
    for name in qdpg.__all__:
        assert getattr(qdpg, name) is not None
        assert name == "__version__" or (getattr(qdpg, name).__doc__ or "").strip()
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        qdpg.trian  # noqa: B018


def test_training_again_gives_the_same_run_however_it_was_asked_for(run, here):
    again = qdpg.train(PointMaze(), "map-elites", steps=6000, seed=1, out=here / "again", **SMALL)
    assert again.config == run.config
    for name, column in again.episodes().items():
        np.testing.assert_array_equal(column, run.episodes()[name])
    in_two = qdpg.train("point-maze", "map-elites", steps=3000, seed=1, out=here / "two", **SMALL).resume(6000)
    assert in_two.config == run.config
    for name, array in in_two.elites.arrays.items():
        np.testing.assert_array_equal(array, run.elites.arrays[name])


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
        ({"seed": -1}, "must be at least 0"),
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
