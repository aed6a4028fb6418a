"""Curves and small maps of real runs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from real_runs import real_runs

from qdpg.report.curves import COLOURS, QD_PG, QUANTITIES, draw_curves
from qdpg.report.gather import TaskResults, gather
from qdpg.report.panels import draw_coverage_maps, draw_final_grids

pytestmark = [pytest.mark.xdist_group("report")]
PERFORMANCE, BEST_ELITE, STORED, COVERAGE = QUANTITIES


@pytest.fixture(scope="module")
def task() -> TaskResults:
    return gather([real_runs()]).tasks[0]


def test_curves_are_medians_between_quartiles_with_references(task: TaskResults) -> None:
    figure = draw_curves(task, STORED)
    (axes,) = figure.axes
    assert axes.get_title() == "evolution", "QD-PG joins the others"
    lines = {line.get_label(): line for line in axes.lines}
    runs = [result.metrics["best_fitness"] for result in task.variants[1].results]
    curve = lines["map-elites (2)"]
    np.testing.assert_allclose(curve.get_ydata(), np.mean(runs, axis=0))  # the median of two is their mean
    assert np.asarray(curve.get_xdata()).tolist() == [2000, 4000, 6000]
    assert lines["qd-pg (2)"].get_color() == QD_PG
    assert curve.get_color() == COLOURS[0]
    band = axes.collections[-1].get_paths()[0].vertices
    expected = np.quantile(runs, [0.25, 0.75], axis=0)[:, -1]
    np.testing.assert_allclose(np.sort(np.unique(band[band[:, 0] == 6000, 1])), expected)
    levels = {float(np.asarray(line.get_ydata())[0]) for line in axes.lines if len(set(line.get_ydata())) == 1}
    assert levels >= {*task.spec.references.values(), task.spec.solved}
    names = [text.get_text() for text in axes.texts]
    assert [name.split(" -")[0] for name in names] == ["motionless", "random", "deceptive", "solved above", "scripted"]


def test_every_fitness_panel_has_the_references_and_names_stand_once(task: TaskResults) -> None:
    both = (*task.variants, *(type(v)(**vars(v) | {"algorithm": "q-pg", "label": "q-pg"}) for v in task.variants[:1]))
    figure = draw_curves(TaskResults(task.title, task.name, True, task.spec, both), PERFORMANCE)
    first, last = figure.axes
    assert (first.get_title(), last.get_title()) == ("QD-PG and its ablations", "evolution")
    for axes in (first, last):
        assert sum(line.get_linestyle() == ":" and line.get_color() == "grey" for line in axes.lines) == 4
        assert "qd-pg (2)" in [line.get_label() for line in axes.lines]
    assert (len(first.texts), len(last.texts)) == (0, 5)
    coverage = draw_curves(task, COVERAGE).axes[0]
    assert not coverage.texts, "references are fitnesses"
    assert coverage.get_ylim() == (0, 1.03)


def test_maps_show_the_representative_run_of_each_algorithm(task: TaskResults) -> None:
    figure = draw_coverage_maps(task)
    maps = figure.axes[:2]
    for axes, variant in zip(maps, task.variants, strict=True):
        result = variant.representative
        assert axes.get_title() == f"{variant.label}, seed {result.run.config['seed']}"
        episodes = result.run.episodes()
        dots = np.asarray(axes.collections[0].get_offsets())
        ends = np.column_stack([episodes["x"], episodes["y"]])
        np.testing.assert_array_equal(np.sort(dots, axis=0), np.sort(ends, axis=0))
        assert axes.collections[0].get_clim() == (0, 6000)


def test_looks_are_drawn_where_somebody_looked(task: TaskResults) -> None:
    steps, means = np.array([1000.0, 2000.0, 3000.0]), np.array([np.nan, -29.0, -27.0])
    looked = [
        dataclasses.replace(result, evaluations={"steps": steps, "elite_mean_fitness": means + 2 * n})
        for n, result in enumerate(task.variants[1].results)
    ]
    never, seen = task.variants[0], dataclasses.replace(task.variants[1], results=tuple(looked))
    axes = draw_curves(dataclasses.replace(task, variants=(never, seen)), BEST_ELITE).axes[0]
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert lines["map-elites (2)"] == [[2000, -28], [3000, -26]]
    assert lines["qd-pg (2)"] == [], "no stored fitness was worth a look"
    assert axes.get_ylabel() == "best elite, mean over fresh starts"


def test_grids_share_one_scale_of_colours_and_say_what_they_show(task: TaskResults) -> None:
    figure = draw_final_grids(task)
    grids = figure.axes[:2]
    stored, corrected = (variant.representative for variant in task.variants)
    fitness = [stored.run.elites.fitness, corrected.run.elites.archive(corrected=True).data("objective")]
    low, high = np.min(np.concatenate(fitness)), np.max(np.concatenate(fitness))
    for axes, scores in zip(grids, fitness, strict=True):
        filled = axes.collections[1]
        assert len(np.asarray(filled.get_array())) == len(scores)
        assert filled.get_clim() == (low, high)
    assert f"stored, optimistic: best {fitness[0].max():.4g}, {stored.coverage:.0%}" in grids[0].get_title()
    assert f"\nbest {corrected.evaluated_best:.4g}, {corrected.corrected_coverage:.0%}" in grids[1].get_title()
