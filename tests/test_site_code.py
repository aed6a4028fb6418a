"""Code blocks of the pages: each says what it is; Python, commands and tutorials run, on small budgets.

Commands and long Python run with `make slow`. What is not run is said in `why_not`, with the reason.
"""

import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

import qdpg
from qdpg.exports.choose import cell_of
from qdpg.tasks.check import check_task
from watchable import SMALL_TASKS, make_run

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tools"))

import tutorials  # noqa: E402

PAGES = [*sorted(path for path in DOCS.rglob("*.md") if "results" not in path.parts), ROOT / "README.md"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
KINDS = {"python", "sh", "text", "bash", "toml", "yaml", "xml"}
SMALL = {"population": 5, "initial_policies": 5, "hidden": (8, 8)}
LITTLE = ["--steps", "700", "--evaluate-seconds", "5", "--set", "task.horizon=15"]
# What is cut short in Python, by page.
CUTS = {
    "adapt": {"trials=20": "trials=4"},
    "compare": {"seeds=3": "seeds=1", "steps=200_000": "steps=400", '"qd-pg", "td3"': '"map-elites"'},
    "own-emitter": {"range(5)": "range(2)"},
    "first_collection": {"steps=60_000": "steps=5_000", "seconds=4": "seconds=0.3"},
    "qd_pg_step_by_step": {"GENERATIONS = 60": "GENERATIONS = 6", "1.5 *": "0.01 *"},
    "own_robot": {"steps=80_000": "steps=6_000", "together=True": "together=True, seconds=0.2"},
}


def blocks(page, language):
    return [block for kind, block in BLOCK.findall(page.read_text()) if kind == language]


def with_blocks(language):
    return [page for page in PAGES if blocks(page, language) and "tutorials" not in page.parts]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def cut(text, page):
    for long, short in CUTS.get(page, {}).items():
        assert long in text, f"{page} no longer says {long}"
        text = text.replace(long, short)
    return text


@pytest.mark.parametrize(
    "page", [*PAGES, *sorted((DOCS / "results").rglob("*.md")), ROOT / "CONTRIBUTING.md"], ids=name_of
)
def test_every_block_says_what_it_is(page):
    fences = re.findall(r"^```(.*)$", page.read_text(), re.MULTILINE)
    assert set(fences[::2]) <= KINDS
    assert set(fences[1::2]) <= {""}
    for block in blocks(page, "toml"):
        tomllib.loads(block)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """What a reader of any page has trained before: small runs, and the files that pages let them write."""
    place = tmp_path_factory.mktemp("reader")
    qdpg.train("point-maze", "map-elites", steps=4000, seed=1, out=place / "runs" / "mine", **SMALL)
    shutil.copytree(place / "runs" / "mine", place / "runs" / "first")
    for name in ("ant-trap/seed-2", "ant-maze/seed-0"):
        task = name.partition("/")[0]
        make_run(place / "docs" / "results" / name, task, *SMALL_TASKS[task])
    for name in ("my_robot.py", "dog.xml"):
        shutil.copy(ROOT / "examples" / name, place)
    _, reacher, hills, _ = blocks(DOCS / "your-own-task.md", "python")
    (place / "my_tasks.py").write_text(reacher)
    (place / "hills.py").write_text(hills)
    (elites,) = blocks(DOCS / "extending.md", "python")
    (place / "my_file.py").write_text(f"from qdpg.tasks.point_maze import PointMaze as MyTask\n{elites}")
    return place


@pytest.fixture
def reader(trained, tmp_path, monkeypatch):
    """A reader's directory, which is also where Python looks for modules."""
    shutil.copytree(trained, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(str(tmp_path / "here"))
    monkeypatch.setattr("builtins.input", lambda words: "1.0")  # adapt.md asks a person
    return tmp_path / "here"


SLOW = ("compare", "own-emitter")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] * (page.stem in SLOW), id=name_of(page))
        for page in with_blocks("python")
    ],
)
def test_python_runs_in_order(page, reader):
    names = {"__name__": "page", "__file__": str(reader / "my_robot.py")}
    for block in blocks(page, "python"):
        used = {long: short for long, short in CUTS.get(page.stem, {}).items() if long in block}
        for long, short in used.items():
            block = block.replace(long, short)
        exec(compile(block, name_of(page), "exec"), names)
    check_outcome(page.stem, names)


def check_outcome(page, names):
    """What a page promises of its code."""
    if page == "python":
        assert names["run"].metrics()["cells"][-1] >= 10, "the callback ended it"
        assert names["run"].metrics()["steps"][-1] < 40_000
        assert len(names["loaded"]) == len(names["good"])
        assert names["algorithm"].generation == 5
    elif page == "your-own-task":
        assert check_task(names["hills"]) == []
        assert check_task(names["reacher"]) == []
        assert names["dog"].spec.descriptor_names == ("x", "y")
    elif page == "runs":
        (expected,) = qdpg.load_run("runs/mine").elites.best().act([[0.0, -0.8]])
        assert names["x"] == pytest.approx(expected, abs=1e-5)
    elif page == "export":
        assert names["done"].largest_difference <= 1e-5
        assert names["film"].files[0].name == "point-maze-together.gif"
    elif page == "adapt":
        assert len(names["found"].trials) == 4
    elif page == "compare":
        assert len(names["outcome"].finished) == 1


def commands(page):
    """Lines of `sh` blocks, as words; a backslash at the end of a line joins it with the next."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            if line.strip() and not line.startswith("#"):
                yield shlex.split(line, comments=True)


def why_not(words):
    """Why a command is not run here, or None."""
    if words[0] == "python" and Path(ROOT / words[1]).is_file():
        return "a program of this repository with tests of its own"
    if words[0] != "qdpg":
        return "installs something, or is a program of others"
    if "ray" in words:
        return "tests/runs/test_ray_train.py and tests/matrix/test_ray_compare.py do it on real clusters"
    if words[1] == "explore" and "--to" not in words:
        return "serves until it is stopped; tests/explorer opens it in a browser"
    if words[1] == "bench":
        return "takes minutes; tests/bench"
    return None


def shorten(words):
    """The same command with a small budget."""
    words = [{"RUN": "runs/mine", "all": "map-elites"}.get(word, word) for word in words[1:]]
    command = words[0]
    for option, short in (("--steps", "700"), ("--seeds", "1"), ("--episodes", "2"), ("--goals", "5")):
        if option in words and command != "resume":
            words[words.index(option) + 1] = short
    if command == "train":
        words += [word for word in LITTLE if word != "--steps" or "--steps" not in words]
    elif command == "compare" and "--tasks" in words:
        words += ["--set", "task.horizon=15"]
    elif command == "resume":
        words[words.index("--steps") + 1] = "4200"
    elif "--cell" in words:  # which cells are filled is chance in so small a run
        elites = qdpg.load_run("runs/mine").elites
        words[words.index("--cell") + 1] = ",".join(map(str, cell_of(elites, 0)))
    return words


def runnable(page):
    return [words for words in commands(page) if why_not(words) is None]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in with_blocks("sh") if runnable(page)], ids=name_of)
def test_commands_run(page, reader):
    from processes import qdpg as run

    for words in runnable(page):
        words = shorten(words)
        out = words[words.index("--out") + 1] if words[0] == "train" and "--out" in words else None
        if out and Path(out).exists():
            shutil.rmtree(out)
        done = run(*words, cwd=reader)
        assert done.returncode == 0, f"qdpg {' '.join(words)}\n{done.stderr}"


@pytest.mark.parametrize("name", tutorials.NAMES)
def test_a_tutorial_is_its_script(name):
    """The page has the script's text and code, in order; what it printed and drew stands between."""
    page = (tutorials.PAGES / f"{name.replace('_', '-')}.md").read_text()
    place = 0
    for cell in tutorials.split((tutorials.SCRIPTS / f"{name}.py").read_text()):
        found = page.find(cell.content if cell.kind == "text" else tutorials.show_code(cell), place)
        assert found >= 0, f"run `python tools/tutorials.py {name}`:\n{cell.content}"
        place = found
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page)
    assert pictures
    assert all((tutorials.PAGES / picture).is_file() for picture in pictures)


MARKS = {"qd_pg_step_by_step": pytest.mark.slow, "first_collection": pytest.mark.long}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[MARKS[name]] if name in MARKS else []) for name in tutorials.NAMES]
)
def test_a_tutorial_runs_to_its_end(name, tmp_path, monkeypatch):
    import matplotlib as mpl

    mpl.use("agg")
    monkeypatch.chdir(tmp_path)  # not where readers of other pages have trained
    monkeypatch.syspath_prepend(str(tmp_path))
    cells = tutorials.split(cut((tutorials.SCRIPTS / f"{name}.py").read_text(), name))
    shown = [seen for seen in tutorials.play(cells, name) if seen is not None]
    printed = "\n".join(seen.printed for seen in shown)
    pictures = [picture for seen in shown for picture in seen.pictures]
    expected = {
        "first_collection": ("policies saved", ["all-elites.gif", "stored-and-evaluated.png"]),
        "qd_pg_step_by_step": ("of 25 cells", ["early.png", "late.png", "growth.gif"]),
        "own_robot": ("problems: none", ["all-rovers.gif", "archive.png"]),
    }
    words, drawn = expected[name]
    assert words in printed
    assert pictures == drawn
