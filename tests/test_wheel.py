"""The wheel has all of the package and nothing else."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = {"qdpg/py.typed", "qdpg/explorer/page.html"}
ABOUT = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt", "licenses/LICENSE"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy: building leaves things behind."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    (copy / "src" / "qdpg" / "notes.txt").write_text("not part of the package")
    (copy / "secrets.env").write_text("not part of the package")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(out)]
    subprocess.run([*command, str(copy)], check=True, capture_output=True)
    (path,) = out.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_the_wheel_has_all_of_the_package_and_nothing_else(wheel):
    source = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "qdpg").rglob("*.py")}
    names = {name for name in wheel.namelist() if not name.endswith("/")}
    about = {name.split("/", 1)[1] for name in names if ".dist-info/" in name}
    assert about == ABOUT
    assert {name for name in names if ".dist-info/" not in name} == {*source, *DATA}


def test_what_is_installed_as_a_command(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert wheel.read(name).decode().split() == ["[console_scripts]", "qdpg", "=", "qdpg.cli.start:main"]


def distributions(requirements):
    """The names of what is required, as pip writes them."""
    return {re.match(r"[\w.-]+", each)[0].lower().replace("_", "-") for each in requirements}


def test_every_dependency_is_used_and_everything_used_is_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = distributions(project["dependencies"])
    extras = distributions(each for some in project["optional-dependencies"].values() for each in some)
    trees = [ast.parse(path.read_text()) for path in (ROOT / "src").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    modules = {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names, "qdpg"}
    found = packages_distributions()
    suppliers = {name: {each.lower().replace("_", "-") for each in found.get(name, [name])} for name in modules}
    assert needed.difference(*suppliers.values()) == {"imageio"}, "which Gymnasium's environments need"
    # pandas: its absence is told in a sentence; websockets: comes with viser.
    assert {name for name in modules if not suppliers[name] & (needed | extras)} <= {"pandas", "websockets"}


def test_every_line_of_the_lock_has_a_digest():
    text = (ROOT / "requirements.lock").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert len(lines) > 50
    assert not [line for line in lines if "==" not in line or "--hash=sha256:" not in line]
