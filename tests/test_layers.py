"""Which package of src/qdpg may import which: a storey imports only what lies below it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "qdpg"
# Single files that anybody may import.
GROUND = {
    "compiled",
    "errors",
    "later",
    "meanings",
    "native",
    "options",
    "plugins",
    "ranges",
    "software",
    "terminal",
    "version",
}
TO_MEMORY = GROUND | {"cluster", "tasks", "learn", "play", "memory"}
TO_ALGORITHMS = TO_MEMORY | {"emitters", "algorithms"}
TO_RESULTS = TO_ALGORITHMS | {"runs", "adaptation", "report", "evaluation", "matrix"}
MAY_IMPORT = {
    "errors": set(),
    "compiled": set(),
    "version": set(),
    "terminal": set(),
    "later": set(),
    "meanings": set(),
    "native": set(),
    "plugins": {"errors"},
    "ranges": {"errors"},
    "options": {"errors", "ranges"},
    "software": {"version"},
    "cluster": GROUND,
    "registration": GROUND,
    "tasks": GROUND,
    "learn": GROUND,
    "play": GROUND | {"cluster", "tasks", "learn"},
    "memory": GROUND | {"tasks", "learn", "play.rollouts"},
    "emitters": TO_MEMORY,
    "algorithms": TO_MEMORY | {"emitters"},
    "runs": TO_ALGORITHMS | {"report.words", "report.compatibility"},
    "callbacks": {"runs"},
    "adaptation": TO_ALGORITHMS | {"runs"},
    "report": TO_ALGORITHMS | {"runs", "adaptation"},
    "evaluation": TO_ALGORITHMS | {"runs", "report.words"},
    "matrix": TO_ALGORITHMS | {"runs", "adaptation", "report", "evaluation"},
    "exports": TO_ALGORITHMS | {"runs"},
    "explorer": TO_RESULTS | {"exports"},
    "bench": TO_RESULTS,
    "cli": TO_RESULTS | {"bench", "exports", "explorer"},
    "__main__": {"cli"},
    "__init__": TO_RESULTS | {"callbacks", "exports", "registration"},
}


def room_of(path):
    """The package, or the single file, that a file belongs to."""
    inside = path.relative_to(SOURCE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def imported(tree):
    """All modules of qdpg that a file imports, inside functions too, as (line, name without "qdpg.")."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            # What is imported from a package may be a module of it.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("qdpg."):
                yield node.lineno, name.removeprefix("qdpg.")


def is_allowed(name, allowed):
    return any(name == each or name.startswith(f"{each}.") for each in allowed)


def offences(path, text):
    room = room_of(path)
    for line, name in imported(ast.parse(text)):
        if not is_allowed(name, MAY_IMPORT[room] | {room}):
            yield f"src/qdpg/{path.relative_to(SOURCE)}:{line} imports {name}"


def test_every_room_has_a_storey():
    assert {room_of(path) for path in SOURCE.rglob("*.py")} == set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_lies_below_it(room):
    files = [path for path in SOURCE.rglob("*.py") if room_of(path) == room]
    assert not [offence for path in files for offence in offences(path, path.read_text())]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("learn/td3.py", "from qdpg.tasks.task import TaskSpec"),
        ("learn/td3.py", "def late():\n    import qdpg.memory.replay"),
        ("memory/elites.py", "from qdpg.play import player"),
        ("memory/elites.py", "from qdpg.play.player import make_player"),
        ("emitters/iso_line.py", "from qdpg.algorithms.pieces import draw_seeds"),
        ("tasks/task.py", "from qdpg.learn import networks"),
        ("runs/train.py", "from qdpg import report"),
        ("runs/train.py", "from qdpg.evaluation.evaluate import evaluate"),
        ("report/result.py", "from qdpg.evaluation.words import describe"),
        ("evaluation/words.py", "from qdpg.report.result import Result"),
    ],
)
def test_an_import_from_above_is_found(file, line):
    assert list(offences(SOURCE / file, line))


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("memory/elites.py", "from qdpg.play.rollouts import Rollouts"),
        ("memory/visited.py", "from qdpg.tasks.task import TaskSpec"),
        ("play/acting.py", "from qdpg.learn.networks import MLP"),
        ("evaluation/words.py", "from qdpg.report.words import number"),
        ("learn/td3.py", "from qdpg.learn.draws import random_normal\nimport numpy"),
    ],
)
def test_an_import_from_below_is_fine(file, line):
    assert not list(offences(SOURCE / file, line))


def test_algorithms_and_emitters_are_short():
    """QD-PG is read beside Algorithm 1 of the paper, in one go."""
    lengths = {
        path: len(path.read_text().splitlines())
        for room in ("algorithms", "emitters")
        for path in (SOURCE / room).glob("*.py")
    }
    assert max(lengths.values()) <= 250
    assert lengths[SOURCE / "algorithms" / "qd_pg.py"] <= 150
