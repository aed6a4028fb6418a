"""Tables of hand-written results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qdpg.report.comparison import NOT_EVALUATED, final_performance, interquartile_means, resources, steps_to_goal
from qdpg.report.gather import TaskResults, Variant
from qdpg.report.overview import components, normalise, pooled_scores
from qdpg.report.result import Result
from qdpg.report.tables import Table
from qdpg.runs.run import Run
from qdpg.tasks.registry import make_task


def result(
    final: float,
    elite: float = -50.0,
    good_from: float = np.inf,
    evaluated: float | None = None,
    task: str = "point-maze",
    **config: Any,
) -> Result:
    """A run of 10,000 steps and four evaluations.

    Args:
        final: What the last evaluation of the population gives.
        elite: The best stored fitness.
        good_from: From when on the looks at the best elites find them good enough.
        evaluated: The best elite's mean from fresh starts, if the run was evaluated.
        task: Its task.
        **config: Other entries of its configuration.
    """
    steps = np.array([5000.0, 10_000.0])
    metrics = {"steps": steps, "seconds": np.array([4.0, 10.0]), "coverage": np.array([0.1, 0.5])}
    metrics |= {"qd_score": np.array([1.0, 20.0]), "best_fitness": np.array([-300.0, elite])}
    metrics |= {"gradients_seconds": np.array([1.0, 5.0]), "physics_seconds": np.array([1.0, 2.0])}
    threshold = make_task(task).spec.solved or 0.0
    looked = np.array([2500.0, 5000.0, 7500.0, 10_000.0])
    evaluations = {"steps": looked, "best_fitness": np.array([-400.0, -400.0, -400.0, final])}
    evaluations |= {"elite_mean_fitness": np.where(looked >= good_from, threshold, np.nan)}
    chosen = {"task": task, "task_options": {}, "algorithm": "qd-pg", "steps": 10_000, "seed": 0, "until_solved": False}
    found = Result(Run(Path("nowhere"), chosen | config, {}), "run", metrics, evaluations)
    if evaluated is not None:  # as if it had been read
        corrected = {"qd_score": 10 + evaluated, "coverage": 0.4}
        about = {"episodes": 20, "best": {"mean": evaluated}, "corrected": corrected, "share_own_cell": 0.25}
        vars(found)["evaluated"] = about
    return found


def variant(algorithm: str, *results: Result, **fields: Any) -> Variant:
    chosen: dict[str, Any] = {"preset": "paper", "changes": {}, "budget": 10_000, "until_solved": False} | fields
    return Variant(algorithm, algorithm, results=results, **chosen)


def task_results(*variants: Variant, name: str = "point-maze", is_papers: bool = True) -> TaskResults:
    return TaskResults(name, name, is_papers, make_task(name).spec, variants)


def rows(table: Table) -> dict[str, dict[str, str]]:
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


def test_final_performance_stands_beside_the_papers() -> None:
    scores = (-24.0, -26.0, -30.0, -25.0, -126.0)
    ours = [result(x, elite=x + 1, evaluated=x - 2, good_from=7500 if x >= -26 else np.inf) for x in scores]
    exact = variant("qd-pg", *ours, budget=10**6)
    fewer = variant("td3", result(-130.0), result(-127.0), budget=10**6, preset="tuned", changes={"hidden": [8]})
    unknown = variant("map-elites", result(-100.0))
    table = final_performance(task_results(exact, fewer, unknown))
    found = rows(table)
    stored = "best elite, stored"
    assert table.columns[:6] == [
        "algorithm",
        "best elite",
        "corrected QD score",
        "own cell",
        "final performance",
        stored,
    ]
    assert found["qd-pg"]["best elite"] == "-28.0 ± 2.5", "from fresh starts; no mark: the paper's steps and seeds"
    assert found["qd-pg"]["corrected QD score"] == "-18.0 ± 2.5"
    assert found["qd-pg"]["own cell"] == "25%"
    assert found["qd-pg"]["final performance"] == "-26.0 ± 2.5"
    assert found["qd-pg"][stored] == "-25.0 ± 2.5"
    assert found["qd-pg"]["solved"] == "3 of 5"
    assert (found["qd-pg"]["paper"], found["qd-pg"]["differs from the paper in"]) == ("-24 ± 0", "nothing")
    assert found["td3"]["final performance"] == "-128.5 ± 0.8†"
    assert found["td3"][stored] == "-50.0 ± 0.0†"
    assert [found["td3"][name] for name in ("best elite", "corrected QD score", "own cell")] == ["-"] * 3
    assert found["td3"]["paper"] == "-129 ± 1"
    assert found["td3"]["differs from the paper in"] == "2 seeds, not 5; preset tuned; settings hidden"
    assert found["map-elites"]["final performance"] == "-100.0†", "one seed has no spread"
    assert found["map-elites"]["paper"] == "not in its table"
    assert found["map-elites"]["differs from the paper in"] == "10,000 steps, not 1,000,000; 1 seed, not 5"
    notes = " ".join(table.notes)
    assert "2 of 3 rows" in notes
    assert "Stored: the best fitness in the collection" in notes
    assert "optimistic" in notes
    assert "at two successive looks, the best elite's mean over 20 fixed fresh starts" in notes
    assert NOT_EVALUATED in table.notes
    record = table.records[0]
    assert (record["final_median"], record["final_first_quartile"], record["final_third_quartile"]) == (-26, -30, -25)
    assert [record[f"{name}_median"] for name in ("evaluated_best", "corrected_qd_score", "best_elite")] == [
        -28,
        -18,
        -25,
    ]
    assert record["share_own_cell_median"] == 0.25
    assert record["solved"] == 3
    assert record["paper_median"] == -24
    assert NOT_EVALUATED not in final_performance(task_results(exact)).notes


def test_marks_of_a_reduced_budget_are_on_evaluated_numbers_too() -> None:
    (row,) = final_performance(task_results(variant("qd-pg", result(-25.0, evaluated=-26.0)))).rows
    assert row[1:6] == ["-26.0†", "-16.0†", "25%†", "-25.0†", "-50.0†"]


def test_runs_that_stopped_when_solved_did_not_have_the_papers_budget() -> None:
    stopped = variant("qd-pg", *(result(-25.0) for _ in range(5)), budget=10**6, until_solved=True)
    (row,) = final_performance(task_results(stopped)).rows
    assert row[4] == "-25.0 ± 0.0†"
    assert row[-1] == "stopped when solved"


def test_a_task_of_ones_own_has_no_paper_beside_it() -> None:
    table = final_performance(task_results(variant("qd-pg", result(-25.0)), is_papers=False))
    assert "paper" not in table.columns
    assert not any("†" in text for text in [*table.rows[0], *table.notes])
    assert "paper" not in " ".join(table.notes)


def test_quoted_numbers_are_marked() -> None:
    table = final_performance(task_results(variant("me-es", result(-20.0, task="ant-maze")), name="ant-maze"))
    assert rows(table)["me-es"]["paper"] == "-5 ± 0‡"
    assert any(note.startswith("‡") and "Colas" in note for note in table.notes)


def test_steps_until_solved_and_ratios() -> None:
    ours = variant("qd-pg", result(-25.0, good_from=2500), result(-25.0, good_from=7500), result(-25.0))
    once = variant("td3", result(-25.0, good_from=10_000), result(-25.0, good_from=10_000))
    slow = variant("map-elites", result(-126.0, good_from=7500))
    table = steps_to_goal(task_results(ours, once, slow))
    assert table is not None
    found = rows(table)
    assert [found[name]["solved"] for name in ("qd-pg", "td3", "map-elites")] == ["2 of 3", "0 of 2", "1 of 1"]
    assert (found["qd-pg"]["steps until solved"], found["qd-pg"]["ratio"]) == ("10,000", "1"), (
        "the median of 5,000, 10,000 and never"
    )
    assert (found["td3"]["steps until solved"], found["td3"]["ratio"]) == ("∞", "∞"), "one good look is not enough"
    assert found["map-elites"]["steps until solved"] == "10,000", "whatever the population did"
    assert "paper's steps" not in table.columns, "Table 2 is about ant-maze"
    assert table.records[0] == {
        "algorithm": "qd-pg",
        "seeds": 3,
        "solved_seeds": 2,
        "steps_to_solved": 10_000,
        "ratio": 1.0,
    }
    assert "the second of two successive looks" in table.notes[0]

    never = variant("td3", result(-25.0))
    alone = steps_to_goal(task_results(never))
    assert alone is not None
    assert rows(alone)["td3"]["ratio"] == "-"
    hopeless = steps_to_goal(task_results(variant("qd-pg", result(-99.0)), variant("td3", result(0.0, good_from=0))))
    assert hopeless is not None
    assert rows(hopeless)["td3"]["ratio"] == "-", "a ratio to infinity says nothing"
    maze = steps_to_goal(task_results(variant("me-es", result(-2.0, task="ant-maze")), name="ant-maze"))
    assert maze is not None
    assert maze.rows[0][-2:] == ["2.4e+10", "286"]
    assert steps_to_goal(task_results(name="ant-trap")) is None


def test_interquartile_means_have_intervals_and_single_seeds_none() -> None:
    pair = variant("qd-pg", result(-20.0, evaluated=-22.0), result(-30.0, evaluated=-32.0))
    table = interquartile_means(task_results(pair, variant("td3", result(-126.0)), variant("rnd", result(np.nan))))
    found = rows(table)
    assert [each["final performance"] for each in found.values()] == ["-25 [-30, -20]", "-126", "-"]
    assert [each["best elite"] for each in found.values()] == ["-27 [-32, -22]", "-", "-"]
    assert [each["corrected QD score"] for each in found.values()] == ["-17 [-22, -12]", "-", "-"]
    assert [each["corrected cells"] for each in found.values()] == ["40 % [40, 40]", "-", "-"]
    assert found["qd-pg"]["best elite, stored"] == "-50 [-50, -50]"
    assert found["qd-pg"]["cells, stored"] == "50 % [50, 50]"
    assert found["qd-pg"]["QD score, stored"] == "20 [20, 20]"


def test_time_and_memory_of_hand_written_runs() -> None:
    (row,) = resources(task_results(variant("qd-pg", result(-25.0), result(-25.0)))).rows
    assert row == ["qd-pg", "10.0 s", "1,000", "50%", "20%", "-", "-", "-", "-"]


def test_scores_are_normalised_between_standing_still_and_the_scripted_optimum() -> None:
    spec = make_task("ant-trap").spec
    assert normalise(spec, np.array([1000.0, 1600.0, 1300.0])).tolist() == [0.0, 1.0, 0.5]


def test_pooled_scores_weigh_normalised_scores_of_both_tasks() -> None:
    both = (result(x, elite=0.0, evaluated=x, task="ant-maze") for x in (-60.0, 0.0))
    maze = task_results(variant("qd-pg", *both), name="ant-maze")
    trap = variant("qd-pg", *(result(1300.0, 1600.0, evaluated=1000.0, task="ant-trap") for _ in range(2)))
    table = pooled_scores([maze, task_results(trap, variant("td3", result(1000.0, task="ant-trap")), name="ant-trap")])
    assert table is not None
    found = rows(table)
    # 0, 0.5, 0.5 and 1; the halves stay whichever scores of ant-maze are drawn, and are the middle ones.
    assert found["qd-pg"]["final performance"] == "0.5 [0.25, 0.75]"
    assert found["qd-pg"]["best elite"].startswith("0 [0, "), "0, 0, 0 and 1"
    assert found["qd-pg"]["best elite, stored"] == "1 [1, 1]"
    assert found["td3"]["best elite"] == "-", "not evaluated"
    assert (found["qd-pg"]["tasks"], found["qd-pg"]["runs"]) == ("ant-maze, ant-trap", "4")
    assert found["td3"]["tasks"] == "ant-trap"
    assert pooled_scores([maze]) is None


def test_components_are_those_of_the_papers_table_4() -> None:
    found = rows(components({"qd-pg"}))
    assert list(found["qd-pg"].values())[2:] == ["✓"] * 5 + ["yes"]
    assert list(found["td3"].values())[2:] == ["✓", "·", "·", "·", "·", "-"]
    assert list(found["me-es"].values())[2:] == ["·", "·", "✓", "✓", "✓", "-"]
    own = components({"qd-pg", "my_file:Mine"}, is_papers=False)
    assert own is not None
    assert [row[0] for row in own.rows] == ["qd-pg"], "those that did not run are of no interest there"
    assert "Table 4" not in own.title
    assert components({"my_file:Mine"}, is_papers=False) is None


@pytest.mark.parametrize(("elites", "expected"), [((-3.0, -1.0, -2.0), -2.0), ((-1.0, -2.0), -1.0)])
def test_the_representative_run_is_the_median_one(elites: tuple[float, ...], expected: float) -> None:
    assert variant("qd-pg", *(result(-9.0, elite) for elite in elites)).representative.best_elite == expected
    # By what fresh starts say, if all of them were evaluated.
    found = [result(-9.0, elite=-elite, evaluated=elite) for elite in elites]
    assert variant("qd-pg", *found).representative.evaluated_best == expected
    unknown = [result(-9.0, elite=elite, evaluated=None if n else -elite) for n, elite in enumerate(elites)]
    assert variant("qd-pg", *unknown).representative.best_elite == expected
