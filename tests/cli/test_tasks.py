from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from qdpg.cli.tasks import run
from qdpg.errors import UserError
from qdpg.tasks.registry import BUILT_IN, make_task


def test_table_lists_every_task_and_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(None, as_json=False) == 0
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
    assert run(None, as_json=True) == 0
    out = capsys.readouterr().out
    described = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert list(described["tasks"]) == list(BUILT_IN)
    assert "figures" not in described
    for name, task in described["tasks"].items():
        spec = make_task(name).spec
        assert task["observation_size"] == spec.observation_size
        assert task["descriptor_high"] == list(spec.descriptor_high)
        assert task["references"] == dict(spec.references)
        assert spec.floor is not None
        assert len(task["floor"]["walls"]) == len(spec.floor.walls)
        assert task["options"]["horizon"] == spec.horizon


def test_draw_writes_three_different_maps_and_prints_their_paths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "new" / ("long" * 20)
    assert run(directory, as_json=False) == 0
    printed = capsys.readouterr().out.splitlines()
    paths = [directory / f"{name}.png" for name in BUILT_IN]
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
    assert run(tmp_path, as_json=True) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert [Path(figure).name for figure in figures] == [f"{name}.png" for name in BUILT_IN]
    assert all(Path(figure).is_file() for figure in figures)


def test_a_file_in_the_way_is_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write figures"):
        run(tmp_path / "file", as_json=False)
