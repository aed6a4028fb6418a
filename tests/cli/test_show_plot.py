from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from PIL import Image

from qdpg.cli import plot, show
from qdpg.errors import UserError
from qdpg.evaluation.evaluate import evaluate
from qdpg.learn.networks import MLP
from qdpg.memory.elites import Elites
from qdpg.play.player import make_player
from qdpg.report.words import number
from qdpg.runs.collection_files import write_collection
from qdpg.runs.records import read_sealed
from qdpg.tasks.registry import make_task

METRICS = """\
generation,steps,seconds,episodes,cells,coverage,qd_score,best_fitness,generation_best,generation_median,gradients_seconds,physics_seconds,novelty_seconds,memory_seconds,rest_seconds
1,600,1.0,3,2,0.08,100.0,-300.0,-300.0,-320.0,0.5,0.2,0.1,0.1,0.1
2,1200,4.0,3,3,0.12,1234.5,-200.5,-200.5,-250.0,3.0,0.4,0.2,0.2,0.2
"""
EVALUATIONS = """\
steps,generation,best_fitness,median_fitness,elite_mean_fitness
600,1,-310.0,-320.0,-305.25
1200,2,-210.0,-260.0,
"""
CONFIG = {"format": 2, "task": "point-maze", "task_options": {}, "algorithm": "qd-pg", "preset": "tuned"}
CONFIG |= {"config": {"cells": [5, 5], "novelty": "mean"}, "seed": 7, "steps": 20_000, "until_solved": False}
MANIFEST = {"qdpg": "0.1.0", "jax": "9.9.9", "python": "3.11", "machine": "a desk", "revision": None, "seed": 7}
MANIFEST |= {"started": "2030-01-01T00:00:00"}


def episodes() -> str:
    """Three episodes of a first generation, which has nothing to differ from, and 60 whose novelties go together."""
    rows = ["generation,steps,seed,length,terminated,fitness,return,x,y,state_novelty,solution_novelty"]
    rows += ["1,600,0,200,0,-300.0,-300.0,0.1,0.2,0.0,0.0"] * 3
    rows += [f"2,1200,0,200,0,-300.0,-300.0,{n / 60},0.5,{5 * n + 100},{n / 10}" for n in range(60)]
    return "\n".join(rows) + "\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A small run of point-maze."""
    path = tmp_path / "run"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG))
    (path / "manifest.json").write_text(json.dumps(MANIFEST))
    (path / "metrics.csv").write_text(METRICS)
    (path / "evaluations.csv").write_text(EVALUATIONS)
    (path / "episodes.csv").write_text(episodes())
    return path


def add_elites(path: Path) -> None:
    task = make_task("point-maze")
    weights, biases = np.random.default_rng(0).normal(size=(3, 2, 2)).astype(np.float32), np.zeros((3, 2), np.float32)
    population = MLP((weights,), (biases,))  # type: ignore[arg-type]
    elites = Elites(task.spec, MLP((weights[0],), (biases[0],)), (5, 5))  # type: ignore[arg-type]
    elites.add(population, make_player(task).play(population, np.arange(3), record=False), 0)
    about = {"steps": 1200, "noise_correlation": 0.0, "cells": [5, 5], "archive_seed": 0}
    write_collection(path / "elites", elites, about)


def shown(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert show.run(path, as_json=True) == 0
    found: dict[str, object] = json.loads(
        capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON")
    )
    return found


def test_show_json_holds_the_numbers(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = shown(run, capsys)
    compatibility = summary.pop("compatibility")
    assert summary == {
        "task": "point-maze",
        "algorithm": "qd-pg",
        "preset": "tuned",
        "seed": 7,
        "steps": 1200,
        "total_steps": 20_000,
        "seconds": 4.0,
        "steps_per_second": 300.0,
        "generations": 2,
        "episodes": 6,
        "cells_filled": 3,
        "cells": 25,
        "coverage": 0.12,
        "qd_score": 1234.5,
        "best_fitness": -200.5,
        "solved_above": -30.0,
        "steps_to_solved": None,
        "climbs_novelty": True,
        "evaluation": {"steps": 1200, "best_fitness": -210.0, "median_fitness": -260.0},
        "evaluated": None,
        "elite_mean_fitness": -305.25,
        "time_shares": {"gradients": 0.75, "physics": 0.1, "novelty": 0.05, "memory": 0.05, "rest": 0.05},
        "versions": MANIFEST,
    }
    assert isinstance(compatibility, dict)
    assert compatibility["episodes"] == 60, "not those of the first generation"
    assert compatibility["pearson"] == pytest.approx(1.0)
    assert compatibility["verdict"].startswith("Strong: ")


def test_show_table_says_it_in_words(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show.run(run, as_json=False) == 0
    out = capsys.readouterr().out
    text = " ".join(cell for line in out.splitlines() for cell in line.replace("│", " ").split())
    for expected in (
        "point-maze (solved above -30)",
        "solved not yet, as far as looks at the best say",
        "qd-pg, preset tuned, seed 7",
        "1,200 of 20,000",
        "4 s, 300 steps/s",
        "gradients 75%, physics 10%, novelty 5%, memory 5%, rest 5%",
        "2, with 6 episodes",
        "3 of 25 (12.0%)",
        "from fresh starts not evaluated since it was trained; see `qdpg evaluate`",
        "best elite at the last look -305.2",
        "stored, optimistic QD score 1,234, best fitness -200.5",
        "last population best -210, median -260, after 1,200 steps",
        "Pearson 1, Spearman 1, over 60 episodes",
        "as the diversity gradient assumes",
        "qdpg 0.1.0, jax 9.9.9, python 3.11",
        "a desk, started 2030-01-01",
    ):
        assert expected in text
    assert max(map(len, out.splitlines())) <= 80


def test_show_has_what_fresh_starts_say_before_what_was_stored(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_elites(run)
    about = evaluate(run, episodes=2).summary
    capsys.readouterr()
    assert shown(run, capsys)["evaluated"] == about == read_sealed(run / "elites" / "evaluated.json")
    assert show.run(run, as_json=False) == 0
    text = " ".join(cell for line in capsys.readouterr().out.splitlines() for cell in line.replace("│", " ").split())
    corrected, stored = (number(about[kind]["qd_score"]) for kind in ("corrected", "stored"))
    expected = [
        "from fresh starts 3 elites x 2 episodes",
        f"corrected QD score {corrected} (stored, optimistic: {stored})",
        f"corrected cells {about['corrected']['cells']} (stored, optimistic: 3)",
        f"end in their own cell {about['share_own_cell']:.0%} of all episodes",
        f"best elite mean {number(about['best']['mean'])}, quartiles ",
        "stored, optimistic QD score 1,234",
    ]
    places = [text.index(each) for each in expected]
    assert places == sorted(places)
    # What is trained further must be evaluated anew.
    (run / "elites" / "elites.safetensors").write_bytes((run / "elites" / "elites.safetensors").read_bytes() + b" ")
    assert shown(run, capsys)["evaluated"] is None


def test_show_says_when_the_task_was_solved(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    looks = "900,1,-25.0,-30.0,-29.0\n1000,2,-25.0,-30.0,-28.5\n1200,2,-25.0,-30.0,-31.0\n"
    (run / "evaluations.csv").write_text(EVALUATIONS.splitlines()[0] + "\n" + looks)
    assert shown(run, capsys)["steps_to_solved"] == 1000
    assert show.run(run, as_json=False) == 0
    assert "after 1,000 steps" in capsys.readouterr().out


def test_show_says_who_does_not_depend_on_compatibility(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show.run(run, as_json=False) == 0
    assert "does not depend" not in capsys.readouterr().out
    config = {name: value for name, value in CONFIG["config"].items() if name != "novelty"}  # type: ignore[attr-defined]
    (run / "config.json").write_text(json.dumps(CONFIG | {"algorithm": "dc-qd-pg", "config": config}))
    assert show.run(run, as_json=False) == 0
    assert "climbs no novelty" in capsys.readouterr().out


def test_show_does_without_what_an_algorithm_does_not_record(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "evaluations.csv").unlink()
    columns = [line.split(",")[:10] for line in METRICS.replace("-200.5,", "-inf,", 1).splitlines()]
    (run / "metrics.csv").write_text("\n".join(map(",".join, columns)) + "\n")
    (run / "episodes.csv").write_text("\n".join(line.rsplit(",", 2)[0] for line in episodes().splitlines()) + "\n")
    summary = shown(run, capsys)
    names = ("best_fitness", "evaluation", "elite_mean_fitness", "compatibility", "time_shares")
    assert [summary[name] for name in names] == [None, None, None, None, {}]
    assert show.run(run, as_json=False) == 0
    out = capsys.readouterr().out
    assert "not evaluated yet" in out
    assert "not recorded: this algorithm climbs no novelty" in out
    assert "nan" not in out


def test_plot_writes_four_different_figures_and_prints_their_paths(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_elites(run)
    assert plot.run(run, quiet=False) == 0
    paths = [run / "figures" / f"{name}.png" for name in ("grid", "learning-curve", "coverage", "trajectories")]
    assert capsys.readouterr().out.splitlines() == [str(path) for path in paths]
    assert sorted((run / "figures").iterdir()) == sorted(paths)
    for path, is_coloured in zip(paths, (True, False, False, True), strict=True):
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB")).reshape(-1, 3).astype(int)
        # The colour bar of fitness reaches viridis' yellow.
        assert (np.abs(pixels - [253, 231, 37]).max(axis=1) < 4).any() == is_coloured, path.name
        assert 0.001 < (pixels.max(axis=1) < 60).mean() < 0.2, "text and lines on a light ground"
    before = {path: path.read_bytes() for path in paths}
    assert plot.run(run, quiet=True) == 0
    assert capsys.readouterr().out == ""
    assert {path: path.read_bytes() for path in paths} == before, "the same run gives the same figures"


@pytest.mark.parametrize(("kind", "begins"), [("svg", b"<?xml"), ("pdf", b"%PDF-")])
def test_plot_writes_other_formats_and_the_same_bytes_again(
    run: Path, kind: Literal["svg", "pdf"], begins: bytes
) -> None:
    add_elites(run)
    assert plot.run(run, quiet=True, kind=kind) == 0
    first = {path.name: path.read_bytes() for path in (run / "figures").iterdir()}
    assert set(first) == {f"{name}.{kind}" for name in ("grid", "learning-curve", "coverage", "trajectories")}
    assert all(content.startswith(begins) for content in first.values())
    assert plot.run(run, quiet=True, kind=kind) == 0
    assert {path.name: path.read_bytes() for path in (run / "figures").iterdir()} == first


def test_plot_says_when_it_cannot_write(run: Path) -> None:
    add_elites(run)
    (run / "figures").write_text("in the way")
    with pytest.raises(UserError, match="in the way"):
        plot.run(run, quiet=True)


@pytest.mark.parametrize(
    "command", [lambda path: show.run(path, as_json=True), lambda path: plot.run(path, quiet=True)]
)
def test_what_is_no_run_or_has_not_begun_is_one_clear_sentence(command, run: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match="is not a run"):
        command(tmp_path / "nowhere")
    add_elites(run)
    (run / "metrics.csv").write_text(METRICS.splitlines()[0] + "\n")
    with pytest.raises(UserError, match="has not finished a generation yet"):
        command(run)
    (run / "metrics.csv").unlink()
    with pytest.raises(UserError, match=r"metrics\.csv is missing"):
        command(run)
