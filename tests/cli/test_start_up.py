"""What commands import: those that only look something up must not wait for libraries that they do not use."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "runs" / "format_1" / "map-elites"
SLOW = {"jax", "numba", "scipy", "ribs", "sklearn", "matplotlib", "gymnasium", "optax", "equinox"}
PROGRAM = """
import json, sys
from qdpg.cli.main import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(json.dumps(sorted(name for name in sys.modules if "." not in name)))
"""


def imported_by(*words, program=PROGRAM):
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(words):
    assert not imported_by(*words) & {*SLOW, "numpy", "mujoco"}


@pytest.mark.parametrize("words", [["algorithms"], ["tasks"], ["tasks", "--json"], ["show", str(RUN)]])
def test_what_only_looks_something_up_imports_no_library_for_training(words):
    assert not imported_by(*words) & SLOW


def test_importing_the_package_is_quick_and_gymnasium_knows_the_tasks_whenever_it_comes():
    quick = "import json, sys; import qdpg; print(json.dumps(sorted(sys.modules)))"
    assert not imported_by(program=quick) & {*SLOW, "numpy", "mujoco"}
    known = 'print(json.dumps([name for name in gymnasium.registry if name.startswith("qdpg/")]))'
    envs = {"qdpg/PointMaze-v0", "qdpg/AntMaze-v0", "qdpg/AntTrap-v0"}
    assert envs <= imported_by(program=f"import json, qdpg, gymnasium; {known}")
    assert envs <= imported_by(program=f"import json, gymnasium, qdpg; {known}")
