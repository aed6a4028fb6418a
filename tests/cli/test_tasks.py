from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from qdpg.cli.tasks import run
from qdpg.errors import UserError
from qdpg.tasks.gymnasium import GymnasiumTask
from qdpg.tasks.registry import BUILT_IN, PAPER_TASKS, make_task


def test_table_lists_every_task_and_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(None, (), None, as_json=False) == 0
    out = capsys.readouterr().out
    lines = {line.split("│")[1].strip(): line for line in out.splitlines() if line.count("│") == 5}
    assert all(name in out for name in (*BUILT_IN, "gym:ENV_ID", "module:name"))
    for label, expected in {
        "observations": ("2", "29", "113"),
        "actions": ("2", "8", "8"),
        "horizon": ("200 steps", "3,000 steps", "1,000 steps"),
        "bounds of ψ, ξ": ("x: -1 to 1", "x: -30 to 40", "x: 0 to 30"),
        "fitness": ("sum of rewards", "best reward", "sum of rewards"),
        "behaviour ξ": ("final ψ",) * 3,
    }.items():
        assert tuple(cell.strip() for cell in lines[label].split("│")[2:5]) == expected
    for name in BUILT_IN:
        for reference in make_task(name).spec.references:
            assert reference in out
    assert max(map(len, out.splitlines())) <= 80


def test_json_is_one_object_of_plain_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(None, (), None, as_json=True) == 0
    out = capsys.readouterr().out
    described = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert list(described["tasks"]) == list(BUILT_IN)
    assert "figures" not in described
    for name, task in described["tasks"].items():
        spec = make_task(name).spec
        assert task["observation_size"] == spec.observation_size
        assert task["descriptor_high"] == list(spec.descriptor_high)
        assert task["references"] == dict(spec.references)
        assert (task["floor"] is None) == (spec.floor is None)
        if spec.floor is not None:
            assert len(task["floor"]["walls"]) == len(spec.floor.walls)
        assert task["options"]["horizon"]["value"] == spec.horizon


def test_draw_writes_three_different_maps_and_prints_their_paths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "new" / ("long" * 20)
    assert run(None, (), directory, as_json=False) == 0
    printed = capsys.readouterr().out.splitlines()
    paths = [directory / f"{name}.png" for name in PAPER_TASKS]
    assert printed[-3:] == [str(path) for path in paths]
    assert sorted(directory.iterdir()) == sorted(paths)
    darkness = []
    for path in paths:
        assert path.stat().st_size < 150_000
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("L"))
        darkness.append((pixels < 60).mean())
        assert 0.002 < darkness[-1] < 0.1, "walls and text, on a light floor"
    assert len(set(darkness)) == 3


def test_json_names_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(None, (), tmp_path, as_json=True) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert [Path(figure).name for figure in figures] == [f"{name}.png" for name in PAPER_TASKS]
    assert all(Path(figure).is_file() for figure in figures)


def test_a_file_in_the_way_is_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="in the way"):
        run(None, (), tmp_path / "file", as_json=False)


def test_one_task_is_printed_with_what_its_options_mean(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("gym:Pendulum-v1", ["task.descriptor=0,1", "task.low=-1,-1", "task.high=1,1"], None, as_json=False) == 0
    out = capsys.readouterr().out.splitlines()
    assert {"task.descriptor=0,1  (set)", "task.behaviour=final  (default)", "task.descriptor_names=[]  (default)"} <= {
        *out
    }
    assert run("ant-maze", (), None, as_json=False) == 0
    out = capsys.readouterr().out
    assert "point-maze" not in out
    assert "3,000 steps" in out
    lines = out.splitlines()
    assert lines[lines.index("task.horizon=3000  (default)") + 1].strip() == (
        "Steps until the episode is cut; it never ends by itself."
    )
    assert run("point-maze", (), None, as_json=True) == 0
    described = json.loads(capsys.readouterr().out)["tasks"]
    assert list(described) == ["point-maze"]
    assert described["point-maze"]["options"]["goal"] == {
        "value": [-0.5, 0.8],
        "source": "default",
        "meaning": "Centre of the square goal zone; adaptation experiments move it.",
    }


def end(observation: np.ndarray, info: dict[str, object]) -> np.ndarray:
    return observation[:2]


def swing() -> GymnasiumTask:
    return GymnasiumTask(env="Pendulum-v1", descriptor=end, low=(-1.0, -1.0), high=(1.0, 1.0))


def test_an_option_that_is_a_function_is_said_by_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    name = f"{swing.__module__}:swing"
    assert run(name, (), None, as_json=True) == 0
    where = json.loads(capsys.readouterr().out)["tasks"][name]["options"]["descriptor"]["value"]
    assert where == f"{swing.__module__}:end"
    assert run(name, (), None, as_json=False) == 0
    assert where in capsys.readouterr().out


def test_options_are_those_of_one_task() -> None:
    with pytest.raises(UserError, match="name it"):
        run(None, ["task.horizon=3"], None, as_json=True)
