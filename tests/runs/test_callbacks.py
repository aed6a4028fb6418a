"""Callbacks look on; they may end a training, and what goes wrong in them is told as theirs."""

import numpy as np
import optuna
import pytest

import qdpg
from qdpg.callbacks import Callback, CallbackError, EarlyStopping, OptunaPruning

SMALL = {"population": 5, "initial_policies": 5, "hidden": (8, 8)}
STEPS = 11_000  # two evaluations


def train(out, *callbacks, steps=STEPS, **changes):
    return qdpg.train("point-maze", "map-elites", steps, 2, out, callbacks, **SMALL | changes)


class Recorder(Callback):
    """Remembers what it was told."""

    def __init__(self):
        self.told, self.rows, self.errors = [], [], []

    def on_start(self, training):
        self.told.append(f"start {training.algorithm.steps}")

    def on_generation(self, training, row):
        assert row["steps"] == training.algorithm.steps
        assert training.seconds > 0
        self.told.append("generation")
        self.rows.append(dict(row))

    def on_evaluation(self, training, row):
        self.told.append("evaluation")
        self.rows.append(dict(row))

    def on_checkpoint(self, training, path):
        assert (path / "manifest.json").exists()
        self.told.append("checkpoint")

    def on_end(self, training, error):
        self.told.append("end")
        self.errors.append(error)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run without callbacks."""
    return train(tmp_path_factory.mktemp("plain") / "run")


def test_they_are_told_everything_in_order_and_change_nothing(plain, tmp_path):
    recorder = Recorder()
    run = train(tmp_path / "run", recorder)
    generations = ["generation"] * 11
    generations[5:5], generations[11:11] = ["evaluation"], ["evaluation"]
    assert recorder.told == ["start 0", *generations, "checkpoint", "end"]
    assert recorder.errors == [None]
    assert [row["steps"] for row in recorder.rows if "qd_score" in row] == run.metrics()["steps"].tolist()
    for table in ("metrics", "episodes", "evaluations"):
        before, after = getattr(plain, table)(), getattr(run, table)()
        assert list(before) == list(after)
        for name in before:
            if not name.endswith("seconds"):
                np.testing.assert_array_equal(before[name], after[name])
    for name, array in plain.elites.arrays.items():
        np.testing.assert_array_equal(array, run.elites.arrays[name])


@pytest.mark.parametrize("reason", ["enough is enough", ""])
def test_one_can_end_the_training_which_can_be_resumed(reason, plain, tmp_path, capsys):
    class Enough(Callback):
        def on_generation(self, training, row):
            if row["steps"] >= 4000:
                training.stop(reason)

    recorder = Recorder()
    run = train(tmp_path / "run", Enough(), recorder, progress=bool(reason))
    assert run.metrics()["steps"][-1] == 4000
    assert ("ended the training: enough is enough" in capsys.readouterr().out) == bool(reason)
    assert recorder.told[-2:] == ["checkpoint", "end"]
    again = Recorder()
    run = run.resume(callbacks=[again])
    assert again.told[0] == "start 4000"
    np.testing.assert_array_equal(run.elites.fitness, plain.elites.fitness)


@pytest.mark.parametrize("where", ["on_generation", "on_evaluation", "on_checkpoint", "on_end"])
def test_an_error_says_whose_it_is_and_loses_nothing(where, plain, tmp_path):
    class Broken(Callback):
        pass

    def fail(self, training, *rest):
        raise KeyError("no such thing")

    setattr(Broken, where, fail)
    recorder = Recorder()
    with pytest.raises(CallbackError, match=f"callback .*Broken failed in {where}: KeyError: 'no such thing'"):
        train(tmp_path / "run", recorder, Broken())
    assert recorder.told.count("end") == 1
    assert where == "on_end" or isinstance(recorder.errors[0], CallbackError)
    run = qdpg.load_run(tmp_path / "run")
    assert run.elites.about["steps"] == {"on_generation": 1000, "on_evaluation": 5000}.get(where, STEPS)
    np.testing.assert_array_equal(run.resume().elites.fitness, plain.elites.fitness)


def test_one_that_cannot_start_leaves_no_new_run_behind_and_an_old_one_as_it_was(plain, tmp_path):
    class Tracker(Callback):
        is_logged_in = False

        def on_start(self, training):
            if not self.is_logged_in:
                raise PermissionError("log in first")

    recorder = Recorder()
    with pytest.raises(CallbackError, match=r"Tracker failed in on_start: PermissionError: log in first"):
        train(tmp_path / "run", recorder, Tracker())
    assert recorder.told[-1] == "end"
    assert not (tmp_path / "run").exists()
    Tracker.is_logged_in = True
    run = train(tmp_path / "run", Tracker(), steps=5000)
    Tracker.is_logged_in = False
    with pytest.raises(CallbackError, match="on_start"):
        run.resume(STEPS, [Tracker()])
    np.testing.assert_array_equal(run.resume(STEPS).elites.fitness, plain.elites.fitness)


def test_early_stopping_waits_for_growth_and_remembers_over_a_resume(plain, tmp_path):
    cells = plain.metrics()["cells"]
    last = int(np.flatnonzero(np.diff(cells, prepend=0) > 0)[-1])  # the last generation that found a cell
    wait = 1000 * max(np.diff(np.flatnonzero(np.diff(cells, prepend=0) > 0)).max(), 1) + 1000
    run = train(tmp_path / "whole", EarlyStopping("cells", patience=wait), steps=40_000)
    steps, found = run.metrics()["steps"], run.metrics()["cells"]
    grew = np.flatnonzero(np.diff(found, prepend=0) > 0)
    assert steps[-1] - steps[grew[-1]] == wait, "as soon as it had waited long enough, and not before"
    assert np.diff(steps[grew]).max() < wait
    assert steps[-1] >= 1000 * (last + 1)
    cut = int(steps[-1]) - 1000  # while it is waiting
    short = train(tmp_path / "cut", EarlyStopping("cells", patience=wait), steps=cut)
    resumed = short.resume(40_000, [EarlyStopping("cells", patience=wait)])
    assert resumed.metrics()["steps"][-1] == steps[-1]
    again = resumed.resume(callbacks=[EarlyStopping("cells", patience=wait)])
    assert again.metrics()["steps"][-1] == steps[-1], "it has waited already"
    with pytest.raises(CallbackError, match="on_start: UserError: metrics have no 'cell'; they have: generation, st"):
        again.resume(callbacks=[EarlyStopping("cell")])


def test_early_stopping_knows_evaluations_and_says_what_it_does_not_know(tmp_path):
    run = train(tmp_path / "run", EarlyStopping("elite_mean_fitness", patience=6000, of="evaluations"), steps=40_000)
    assert run.metrics()["steps"][-1] == 10_000, "nobody has looked at an elite, so nothing has grown"
    with pytest.raises(CallbackError, match="metrics have no 'qd'; they have: generation, steps"):
        train(tmp_path / "wrong", EarlyStopping("qd"))
    with pytest.raises(CallbackError, match="metrics have no 'qd'; they have: generation, steps"):
        train(tmp_path / "pruned", OptunaPruning(None, "qd", every=1000))


def test_optuna_is_told_how_it_goes_and_may_give_a_trial_up(tmp_path):
    class GiveUpSecond(optuna.pruners.BasePruner):
        def prune(self, study, trial):
            return trial.number == 1 and trial.last_step >= 4000

    def objective(trial):
        pruning = OptunaPruning(trial, "qd_score", every=2000)
        run = train(tmp_path / str(trial.number), pruning, steps=8000)
        pruning.check()
        return run.metrics()["qd_score"][-1]

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", pruner=GiveUpSecond())
    study.optimize(objective, n_trials=2)
    first, second = study.trials
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "PRUNED"]
    metrics = qdpg.load_run(tmp_path / "0").metrics()
    at = dict(zip(metrics["steps"], metrics["qd_score"], strict=True))
    assert first.intermediate_values == {steps: at[steps] for steps in (2000, 4000, 6000, 8000)}
    assert list(second.intermediate_values) == [2000, 4000]
    assert qdpg.load_run(tmp_path / "1").metrics()["steps"][-1] == 4000
