"""The archive during training: only candidates count, and every elite knows who made it."""

from pathlib import Path

import numpy as np
import pytest

import qdpg
from qdpg.explorer.archive import kind_colours
from qdpg.explorer.history import EMITTER, EVALUATED, GENERATION, STORED_FITNESS, measures, read_history
from qdpg.explorer.legends import kinds
from watchable import make_run

RESULTS = Path(__file__).parents[2] / "docs" / "results"
COMMITTED = [RESULTS / "ant-trap" / "seed-2", RESULTS / "ant-maze" / "seed-0"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run") / "maze", "point-maze", {"horizon": 40}, (5, 5), policies=30)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.parent.name)
def test_runs_that_did_not_record_emitters_have_the_archive_of_every_generation(path):
    run = qdpg.load_run(path)
    elites, metrics = run.elites, run.metrics()
    history = read_history(run, elites)
    cells = np.unique(history.index)
    assert cells.tolist() == elites.cells_index.tolist(), "exploration episodes are no candidates"
    for generation, filled in zip(metrics["generation"], metrics["cells"], strict=True):
        assert np.isfinite(history.values(cells, generation, STORED_FITNESS)).sum() == filled
    assert history.values(cells, np.inf, STORED_FITNESS).tolist() == elites.fitness.tolist()
    assert EMITTER not in measures(elites, history)


def test_history_ends_with_the_elites(run):
    elites, history = run.elites, read_history(run, run.elites)
    assert history.steps.tolist() == [500, 1000]
    for what, values in measures(elites, history).items():
        late = history.values(elites.cells_index, 2, what)
        assert late.tolist() == (values + (what == GENERATION)).tolist()
    early = history.values(elites.cells_index, 1, STORED_FITNESS)
    assert np.isfinite(early).sum() == len(np.unique(history.index[history.generation == 1]))
    assert not (early > elites.fitness).any()
    assert np.nanmax(history.values(elites.cells_index, 1, EMITTER)) == 0


def test_every_elite_knows_who_made_it(run):
    elites = run.elites
    makers = measures(elites, read_history(run, elites))[EMITTER]
    assert makers.tolist() == elites.arrays["generation"].tolist()  # in these runs the second emitter has the second
    assert set(makers) == {0, 1}
    legend = kinds(makers, ["random", "<b>iso</b>"])
    assert f"random: {(makers == 0).sum()}" in legend
    assert "&lt;b&gt;iso&lt;/b&gt;" in legend
    assert len(np.unique(kind_colours(np.array([0.0, 1.0, np.nan])), axis=0)) == 3


def test_training_records_who_made_what(tmp_path):
    settings = {"population": 8, "initial_policies": 6, "hidden": (8,)}
    trained = qdpg.train(
        "point-maze", "map-elites", 2_000, out=tmp_path / "run", task_options={"horizon": 50}, **settings
    )
    elites, emitter = trained.elites, trained.episodes()["emitter"]
    assert elites.about["emitters"] == ["random", "iso line"]
    assert (emitter == (trained.episodes()["generation"] > 1)).all()
    makers = measures(elites, read_history(trained, elites))[EMITTER]
    assert np.array_equal(makers, elites.arrays["generation"] > 0)


def test_evaluated_fitness_comes_first(run):
    known = measures(run.elites, None)
    assert list(known) == [STORED_FITNESS, GENERATION]
    elites = run.elites
    elites.evaluated = {"mean": np.arange(len(elites), dtype=float)}
    assert next(iter(measures(elites, None))) == EVALUATED
