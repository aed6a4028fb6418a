"""Tables of hand-written results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qdpg.report.comparison import final_performance, interquartile_means, resources, steps_to_goal
from qdpg.report.gather import TaskResults, Variant
from qdpg.report.overview import components, normalise, pooled_scores
from qdpg.report.result import Result
from qdpg.report.tables import Table
from qdpg.runs.run import Run
from qdpg.tasks.registry import make_task


def result(
    final: float, elite: float = -50.0, solved_at: float = np.inf, task: str = "point-maze", **config: Any
) -> Result:
    """A run of 10,000 steps and two evaluations, of which the second gives `final`."""
    steps = np.array([5000.0, 10_000.0])
    metrics = {"steps": steps, "seconds": np.array([4.0, 10.0]), "coverage": np.array([0.1, 0.5])}
    metrics |= {"qd_score": np.array([1.0, 20.0]), "best_fitness": np.array([-300.0, elite])}
    metrics |= {"gradients_seconds": np.array([1.0, 5.0]), "physics_seconds": np.array([1.0, 2.0])}
    threshold = make_task(task).spec.solved or 0.0
    evaluations = {"steps": steps, "best_fitness": np.array([-400.0, final])}
    evaluations |= {"elite_mean_fitness": np.where(steps >= solved_at, threshold, np.nan)}
    chosen = {"task": task, "steps": 10_000, "seed": 0, "until_solved": False} | config
    return Result(Run(Path("nowhere"), chosen, {}, make_task(task)), "run", metrics, evaluations)


def variant(algorithm: str, *results: Result, **fields: Any) -> Variant:
    chosen: dict[str, Any] = {"preset": "paper", "changes": {}, "budget": 10_000, "until_solved": False} | fields
    return Variant(algorithm, algorithm, results=results, **chosen)


def task_results(*variants: Variant, name: str = "point-maze", is_papers: bool = True) -> TaskResults:
    return TaskResults(name, name, is_papers, make_task(name).spec, variants)


def rows(table: Table) -> dict[str, dict[str, str]]:
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


def test_final_performance_stands_beside_the_papers() -> None:
    scores = (-24.0, -26.0, -30.0, -25.0, -126.0)
    exact = variant("qd-pg", *(result(score, elite=score + 1) for score in scores), budget=10**6)
    fewer = variant("td3", result(-130.0), result(-127.0), budget=10**6, preset="tuned", changes={"hidden": [8]})
    unknown = variant("map-elites", result(-100.0))
    table = final_performance(task_results(exact, fewer, unknown))
    found = rows(table)
    assert found["qd-pg"]["final performance"] == "-26.0 ± 2.5", "no mark: the paper's steps and seeds"
    assert found["qd-pg"]["best elite"] == "-25.0 ± 2.5"
    assert found["qd-pg"]["solved"] == "4 of 5"
    assert (found["qd-pg"]["paper"], found["qd-pg"]["differs from the paper in"]) == ("-24 ± 0", "nothing")
    assert found["td3"]["final performance"] == "-128.5 ± 0.8†"
    assert found["td3"]["paper"] == "-129 ± 1"
    assert found["td3"]["differs from the paper in"] == "2 seeds, not 5; preset tuned; settings hidden"
    assert found["map-elites"]["final performance"] == "-100.0†", "one seed has no spread"
    assert found["map-elites"]["paper"] == "not in its table"
    assert found["map-elites"]["differs from the paper in"] == "10,000 steps, not 1,000,000; 1 seed, not 5"
    assert "2 of 3 rows" in " ".join(table.notes)
    record = table.records[0]
    assert (record["final_median"], record["final_first_quartile"], record["final_third_quartile"]) == (-26, -30, -25)
    assert record["paper_median"] == -24


def test_runs_that_stopped_when_solved_did_not_have_the_papers_budget() -> None:
    stopped = variant("qd-pg", *(result(-25.0) for _ in range(5)), budget=10**6, until_solved=True)
    (row,) = final_performance(task_results(stopped)).rows
    assert row[1].endswith("†")
    assert row[-1] == "stopped when solved"


def test_a_task_of_ones_own_has_no_paper_beside_it() -> None:
    table = final_performance(task_results(variant("qd-pg", result(-25.0)), is_papers=False))
    assert "paper" not in table.columns
    assert not any("†" in text for text in [*table.rows[0], *table.notes])
    assert "no such task" in table.notes[-1]


def test_quoted_numbers_are_marked() -> None:
    table = final_performance(task_results(variant("me-es", result(-20.0, task="ant-maze")), name="ant-maze"))
    assert rows(table)["me-es"]["paper"] == "-5 ± 0‡"
    assert any(note.startswith("‡") and "Colas" in note for note in table.notes)


def test_steps_to_goal_and_ratios() -> None:
    ours = variant("qd-pg", result(-25.0, solved_at=5000), result(-25.0, solved_at=10_000), result(-99.0))
    never = variant("td3", result(-126.0), result(-126.0))
    table = steps_to_goal(task_results(ours, never))
    assert table is not None
    found = rows(table)
    assert found["qd-pg"]["reached it"] == "2 of 3"
    assert (found["qd-pg"]["steps to goal"], found["qd-pg"]["ratio"]) == ("10,000", "1")
    assert found["qd-pg"]["steps to a reliable elite"] == "10,000", "the median of 5,000, 10,000 and never"
    assert (found["td3"]["steps to goal"], found["td3"]["ratio"]) == ("∞", "∞")
    assert "paper's steps" not in table.columns, "Table 2 is about ant-maze"

    alone = steps_to_goal(task_results(never))
    assert alone is not None
    assert rows(alone)["td3"]["ratio"] == "-"
    hopeless = steps_to_goal(task_results(variant("qd-pg", result(-99.0)), variant("td3", result(-25.0))))
    assert hopeless is not None
    assert rows(hopeless)["td3"]["ratio"] == "-", "a ratio to infinity says nothing"
    maze = steps_to_goal(task_results(variant("me-es", result(-2.0, task="ant-maze")), name="ant-maze"))
    assert maze is not None
    assert maze.rows[0][-2:] == ["2.4e+10", "286"]
    assert steps_to_goal(task_results(name="ant-trap")) is None


def test_interquartile_means_have_intervals_and_single_seeds_none() -> None:
    pair = variant("qd-pg", result(-20.0), result(-30.0))
    table = interquartile_means(task_results(pair, variant("td3", result(-126.0)), variant("rnd", result(np.nan))))
    assert [row[1] for row in table.rows] == ["-25 [-30, -20]", "-126", "-"]
    assert table.rows[0][3] == "50 % [50, 50]"


def test_time_and_memory_of_hand_written_runs() -> None:
    (row,) = resources(task_results(variant("qd-pg", result(-25.0), result(-25.0)))).rows
    assert row == ["qd-pg", "10.0 s", "1,000", "50%", "20%", "-", "-", "-", "-"]


def test_scores_are_normalised_between_standing_still_and_the_scripted_optimum() -> None:
    spec = make_task("ant-trap").spec
    assert normalise(spec, np.array([1000.0, 1600.0, 1300.0])).tolist() == [0.0, 1.0, 0.5]


def test_pooled_scores_weigh_normalised_scores_of_both_tasks() -> None:
    maze = task_results(variant("qd-pg", result(-60.0, task="ant-maze"), result(0.0, task="ant-maze")), name="ant-maze")
    trap = variant("qd-pg", result(1300.0, task="ant-trap"), result(1300.0, task="ant-trap"))
    table = pooled_scores([maze, task_results(trap, variant("td3", result(1000.0, task="ant-trap")), name="ant-trap")])
    assert table is not None
    found = rows(table)
    # 0, 0.5, 0.5 and 1; the halves stay whichever scores of ant-maze are drawn, and are the middle ones.
    assert found["qd-pg"]["final performance"] == "0.5 [0.25, 0.75]"
    assert (found["qd-pg"]["tasks"], found["qd-pg"]["runs"]) == ("ant-maze, ant-trap", "4")
    assert found["td3"]["tasks"] == "ant-trap"
    assert pooled_scores([maze]) is None


def test_components_are_those_of_the_papers_table_4() -> None:
    found = rows(components({"qd-pg"}))
    assert list(found["qd-pg"].values())[2:] == ["✓"] * 5 + ["yes"]
    assert list(found["td3"].values())[2:] == ["✓", "·", "·", "·", "·", "-"]
    assert list(found["me-es"].values())[2:] == ["·", "·", "✓", "✓", "✓", "-"]


@pytest.mark.parametrize(("elites", "expected"), [((-3.0, -1.0, -2.0), -2.0), ((-1.0, -2.0), -1.0)])
def test_the_representative_run_is_the_median_one(elites: tuple[float, ...], expected: float) -> None:
    assert variant("qd-pg", *(result(-9.0, elite) for elite in elites)).representative.best_elite == expected
