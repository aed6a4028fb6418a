import dataclasses

import numpy as np

from qdpg.adaptation.experiment import METHODS, Experiment
from qdpg.report.adaptation_figures import best_by_square, draw_performance_map, draw_trials
from qdpg.tasks.ant_maze import AntMaze
from qdpg.tasks.point_maze import PointMaze

SCORES = np.array([[-40.0, -20.0, -30.0], [-9.0, -10.0, -11.0], [-60.0, -50.0, -55.0]])
ROWS = np.tile(np.arange(3), (3, 1))
GOALS = np.array([[-0.95, -0.95], [-0.85, -0.85], [1.0, 1.0]])
AGAIN = {name: np.full(3, -99.0) for name in METHODS}
EXPERIMENT = Experiment(GOALS, ROWS, SCORES, ROWS, SCORES - 5, np.zeros(3, int), SCORES.max(axis=1) + 1, AGAIN)


def test_each_square_holds_its_best_score():
    squares = best_by_square(GOALS, np.array([-20.0, -9.0, -50.0]), np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    assert squares[0, 0] == -9.0, "the better of two"
    assert squares[9, 9] == -50.0, "the border belongs to the last square"
    assert np.isnan(squares).sum() == 98
    corner = best_by_square(np.array([[0.95, -0.95]]), np.array([1.0]), np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    assert corner[0, 9] == 1.0, "rows are y, columns x"


def test_map_shows_scores_start_and_statistics():
    for task, size in ((PointMaze(), 1.0), (AntMaze(), 30.0)):
        figure = draw_performance_map(task.spec, dataclasses.replace(EXPERIMENT, goals=size * GOALS))
        axes = figure.axes[0]
        assert {text.get_text() for text in axes.texts} == {"-9", "-50"}
        assert axes.get_legend_handles_labels()[1].count("start") == 1
        assert "goal" not in axes.get_legend_handles_labels()[1]
        assert "3 random goals, 3 trials each" in figure.get_suptitle()
        assert "mean -26.33" in figure.get_suptitle()
        figure.canvas.draw()


def test_curves_are_means_of_the_best_so_far():
    figure = draw_trials(PointMaze().spec, EXPERIMENT, 3)
    curves = {line.get_label(): np.asarray(line.get_ydata()) for line in figure.axes[0].lines}
    best = np.array([-109, -79, -79]) / 3
    np.testing.assert_allclose(curves["Bayesian optimisation"], best)
    np.testing.assert_allclose(curves["random choice"], best - 5)
    np.testing.assert_allclose(curves["exhaustive search (all elites)"], [-76 / 3] * 3)
    figure.canvas.draw()
