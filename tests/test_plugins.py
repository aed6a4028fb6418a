"""Tasks and algorithms from outside: in a file of the user's, and in a package that is installed."""

import json
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import qdpg
from qdpg.algorithms.registry import find_family
from qdpg.errors import UserError
from qdpg.runs.training import plan_run

PACKAGE = Path(__file__).parents[1] / "examples" / "extension"


def build_wheel(directory):
    """Pack the example as its pyproject.toml says; building it for real would need packages that are not here."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    name = f"{project['name'].replace('-', '_')}-{project['version']}"
    points = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    about = {
        "METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": "\n".join(points),
        "RECORD": "",
    }
    wheel = directory / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in (PACKAGE / "my_qd").glob("*.py"):
            archive.write(path, path.relative_to(PACKAGE))
        for file, text in about.items():
            archive.writestr(f"{name}.dist-info/{file}", text)
    return wheel


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The Python of a virtual environment that has the packages of this one, and the example by pip."""
    directory = tmp_path_factory.mktemp("venv")
    venv.create(directory, symlinks=True)
    python = directory / "bin" / "python"
    (packages,) = directory.glob("lib/python*/site-packages")
    ours = [str(Path(qdpg.__file__).parents[1]), *(path for path in sys.path if path.endswith("site-packages"))]
    (packages / "ours.pth").write_text("\n".join(ours))
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    wheel = build_wheel(tmp_path_factory.mktemp("wheel"))
    subprocess.run([*command, "--disable-pip-version-check", "--no-compile", wheel], check=True, timeout=300)
    return python


def call(python, *words):
    """Run a Python in a process of its own."""
    command = [str(python), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_a_package_offers_is_listed_without_importing_it(installed):
    assert call(installed, "-m", "qdpg", "tasks", "--json")["others"]["my-slope"] == "from my-qd 1.2"
    assert call(installed, "-m", "qdpg", "algorithms", "--json")["my-crossover"] == {"title": "from my-qd 1.2"}
    assert "my-slope" not in call(sys.executable, "-m", "qdpg", "tasks", "--json")["others"]


USE = """
import json, sys, qdpg
small = {"population": 4, "initial_policies": 4, "hidden": (4, 4)}
options = {"steepness": 2.0}
run = qdpg.train("my-slope", "my-crossover", 400, out=sys.argv[1], task_options=options, **small)
run = qdpg.load_run(sys.argv[1]).resume(800)  # it is installed, so it needs no trust
settings = qdpg.describe_settings("my-crossover")
print(json.dumps([run.config["task"], run.summary()["steps"], run.elites.best().fitness, settings]))
"""


@pytest.mark.slow
def test_what_a_package_offers_is_trained_resumed_and_described_like_ours(installed, tmp_path):
    task, steps, fitness, settings = call(installed, "-c", USE, tmp_path / "run")
    assert task == "my-slope"
    assert steps >= 800
    assert next(each for each in settings if each[0] == "cells")[4] == "Cells per dimension of the grid."
    elsewhere = qdpg.load_run(tmp_path / "run")
    assert elsewhere.elites.best().fitness == fitness, "elites are read without the package"
    with pytest.raises(UserError, match="there is no algorithm 'my-crossover'"):
        elsewhere.resume(1200)


@pytest.fixture
def own_files(tmp_path, monkeypatch):
    """Files of the user's beside them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    shutil.copy(PACKAGE / "my_qd" / "crossover.py", tmp_path / "own_crossover.py")
    (tmp_path / "own_wrong.py").write_text(
        "from dataclasses import dataclass\n"
        "thing = 3\n"
        "class Empty: pass\n"
        "class Methods:\n    ask = tell = state = load = lambda self: None\n"
        "class Thawed(Methods):\n    @dataclass\n    class Config: x: int = 1\n"
        "class Needy(Methods):\n    @dataclass(frozen=True)\n    class Config: x: int\n"
        "class Broken(Methods):\n    @dataclass(frozen=True)\n    class Config: x: int = 1\n"
        "    def __init__(self): ...\n"
    )
    return tmp_path


def test_an_algorithm_in_a_file_is_named_by_module_and_class(own_files):
    settings = {"population": 4, "initial_policies": 4, "hidden": (4, 4)}
    run = qdpg.train("point-maze", "own_crossover:CrossoverElites", 1600, out="run", **settings)
    assert run.config["algorithm"] == "own_crossover:CrossoverElites"
    with pytest.raises(UserError, match="would import the module 'own_crossover'"):
        qdpg.load_run("run").resume(2400)
    assert qdpg.load_run("run", trust=True).resume(2400).metrics()["steps"][-1] == 2400
    where, _ = plan_run("point-maze", {}, "own_crossover:CrossoverElites", "tuned", settings, 0, 800, None, False)
    assert str(where) == "runs/point-maze-own_crossover-CrossoverElites-tuned-0"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("own_wrong:thing", "is a int, but must be the class of an algorithm"),
        ("own_wrong:nothing", "has no 'nothing'; an algorithm is named as module:name"),
        ("own_wrong:Empty", "it has no method 'ask'"),
        ("own_wrong:Methods", "must have its settings as `Config`"),
        ("own_wrong:Thawed", "a frozen dataclass"),
        ("own_wrong:Needy", "must have defaults"),
        ("no_such_module:Class", "'no_such_module' of algorithm .* does not import: ModuleNotFoundError"),
        ("map-elite", "did you mean 'map-elites'"),
    ],
)
def test_what_is_no_algorithm_is_refused_in_one_sentence(name, sentence, own_files):
    with pytest.raises(UserError, match=sentence):
        find_family(name)


def test_one_that_cannot_be_made_leaves_nothing_behind(own_files):
    with pytest.raises(UserError, match="'own_wrong:Broken' could not be made: TypeError"):
        qdpg.train("point-maze", "own_wrong:Broken", 800, out="run")
    assert not (own_files / "run").exists()
