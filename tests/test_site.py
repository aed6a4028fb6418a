"""The pages of docs/: each is in the navigation, links lead somewhere, numbers and words are those of the code."""

import dataclasses
import importlib
import importlib.util
import inspect
import os
import re
import shlex
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import qdpg
from qdpg.algorithms.registry import ALGORITHMS
from qdpg.algorithms.settings import describe_settings
from qdpg.cli.main import app
from qdpg.tasks.registry import make_task

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import quotes  # noqa: E402
import site_pages  # noqa: E402

DOCS = ROOT / "docs"
NAV = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1], re.MULTILINE)
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, *sorted(ROOT.glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)|<img src=\"([^\"]+)\"")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECTIONS = (
    *("The idea", "The equation", "A picture", "How to run it"),
    *("Where it differs from its paper", "What it reaches here"),
)
PRIVATE = re.compile(  # words that only those knew who were there; the field has its own
    r"\bscouts?\b|\bsteered\b|\bheirs\b|\blonely\b|practice_|\bguided_|deducted from|pay for being alive|left away"
)


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def test_every_page_is_in_the_navigation_once():
    written = {page.relative_to(DOCS).as_posix() for page in PAGES}
    assert written - set(NAV) == set(), "add these to `nav` in mkdocs.yml"
    assert len(NAV) == len(set(NAV))
    others = set(NAV) - written
    assert {each for each in others if not each.startswith("from-code/")} == {
        f"project/{name}" for name in ("CONTRIBUTING.md", "HISTORY.md", "SECURITY.md")
    }


@pytest.mark.parametrize("text", TEXTS, ids=name_of)
def test_relative_links_lead_to_files(text):
    made = {DOCS / each for each in NAV if each.startswith("from-code/")}
    for link in (one or other for one, other in LINK.findall(text.read_text())):
        if "://" not in link:
            target = Path(os.path.normpath(text.parent / link))
            assert target in made or target.is_file(), f"{name_of(text)} links to {link}"


def test_scores_in_the_readme_are_those_of_the_results():
    """Of each row: every number of what was measured here stands in the page that the row links to."""
    table = (ROOT / "README.md").read_text().split("## Results")[1].split("\n## ")[0]
    rows = re.findall(r"^\| \[[^]]+\]\((\S+)\) \|[^|]+\|([^|]+)\|", table, re.MULTILINE)
    assert len(rows) == 5
    for page, measured in rows:
        numbers = re.findall(r"\d[\d,]*(?:\.\d+)?(?:·10[⁰-⁹]+)?", measured.replace("10⁶", ""))
        stands = (ROOT / page).read_text()
        assert [each for each in numbers if not re.search(rf"(?<![\d.,]){each}(?![\d,.]*\d)", stands)] == []


def find_options(function):
    """What a command takes that begins with two dashes."""
    hints = typing.get_type_hints(function, include_extras=True)
    for parameter, hint in hints.items():
        names = [each.name for each in getattr(hint, "__metadata__", ()) if getattr(each, "name", None)]
        yield "--" + (names[0] if names else parameter.replace("_", "-"))


def find_commands(text):
    """Lines of code blocks that call qdpg, as words; lines that end in a backslash go on."""
    for _, block in BLOCK.findall(text.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            if re.match(r"(\$ )?qdpg [a-z]", line.strip()):
                yield shlex.split(line.strip().removeprefix("$ "), comments=True)


@pytest.mark.parametrize("text", [text for text in TEXTS if "qdpg " in text.read_text()], ids=name_of)
def test_commands_and_their_options_exist(text):
    commands = {name: set(find_options(each.target)) for name, each in app._subcommands.items()}
    for _, command, *words in find_commands(text):
        assert command in commands, f"{name_of(text)}: qdpg {command}"
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert options <= commands[command], f"{name_of(text)}: qdpg {command} {' '.join(words)}"


def test_quotes_are_what_the_results_say():
    assert [name_of(page) for page in quotes.stale()] == [], "run `make quotes`"
    quoted = [page for page in TEXTS if "<!-- from: results/" in page.read_text()]
    assert {"README.md", "docs/qd-pg.md", "docs/dc-qd-pg.md"} <= set(map(name_of, quoted))


def test_a_quote_changes_with_what_it_quotes(tmp_path, monkeypatch):
    monkeypatch.setattr(quotes, "DOCS", tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "one.md").write_text("It is <!-- name: best -->7<!-- end --> now.")
    page = "Here <!-- from: results/one.md#best -->6<!-- end -->."
    assert quotes.fill(page) == "Here <!-- from: results/one.md#best -->7<!-- end -->."
    with pytest.raises(KeyError, match="no piece named worst"):
        quotes.fill("<!-- from: results/one.md#worst --><!-- end -->")
    assert "No run" in quotes.find("tables", "td3")
    (tmp_path / "results" / "maze" / "tables").mkdir(parents=True)
    columns = "algorithm,evaluated_best_median,evaluated_best_half_iqr,best_elite_median,best_elite_half_iqr"
    columns += ",solved,seeds,steps"
    table = f"{columns}\ntd3,-126.55,0.11,-125.9,,0,3,200000\nsac,1,1,1,1,0,3,1\n"
    (tmp_path / "results" / "maze" / "tables" / "maze-final-performance.csv").write_text(table)
    *_, row = quotes.find("tables", "td3").strip().splitlines()
    assert row == "| [maze](results/maze/README.md) | −126.5 ± 0.1 | −125.9 ± 0.0 | 0 of 3 | 3 | 200,000 | – |"


def test_a_quote_takes_rows_at_the_papers_budget_before_older_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(quotes, "DOCS", tmp_path)
    (tmp_path / "results" / "point-maze" / "tables").mkdir(parents=True)
    columns = "algorithm,evaluated_best_median,best_elite_median,solved,seeds,steps"
    (tmp_path / "results" / "point-maze" / "tables" / "point-maze-final-performance.csv").write_text(
        f"{columns}\ntd3,-5,-4,0,1,200000\n"
    )
    rows = ["point-maze,td3,0,1000100,-130,-120,inf", "point-maze,td3,1,1000200,-126,-122,70000"]
    rows += ["ant-trap,td3,0,1000000,1100,1200,nan"]
    text = "\n".join(["part,algorithm,seed,steps,evaluated,stored,solved_after", *rows, ""])
    (tmp_path / "results" / "paper.csv").write_text(text)
    *_, maze, trap = quotes.find("tables", "td3").strip().splitlines()
    ours = "−128.0 ± 1.0 | −121.0 ± 0.5 | 1 of 2 | 2 | 1,000,150"
    assert maze == f"| [point-maze](results/paper.md) | {ours} | −129 ± 1 |"
    assert trap == "| [ant-trap](results/paper.md) | 1,100 | 1,200 | – | 1 | 1,000,000 | 1,131 ± 4 |"


def tables_of_reasons():
    for page in PAGES:
        for algorithm, columns, rows in site_pages._REASONS.findall(page.read_text()):
            yield page, algorithm, columns.split(), [name for names, _ in site_pages.reasons(rows) for name in names]


def test_tables_of_reasons_name_settings_and_get_their_values():
    tables = list(tables_of_reasons())
    assert {algorithm for _, algorithm, _, _ in tables} >= {"qd-pg", "dc-qd-pg", "map-elites", "me-es"}
    for page, algorithm, columns, names in tables:
        for column in columns:
            task, preset = column.split(":")
            known = {each.name for each in describe_settings(algorithm, task, preset)}
            assert set(names) <= known, name_of(page)
    filled = site_pages.add_values((DOCS / "qd-pg.md").read_text())
    assert "| `batch_size`<br>`gradient_steps_ratio` | `256`<br>`4.0` | `100`<br>`1.5` |" in filled
    assert "<!-- values" not in filled


def test_every_setting_in_which_tuned_differs_from_paper_has_its_reason():
    for _, algorithm, columns, names in tables_of_reasons():
        tasks = {column.split(":")[0] for column in columns if algorithm == "qd-pg"}
        for task in tasks:
            changed = {each.name for each in describe_settings(algorithm, task) if each.source == "tuned"}
            assert changed - set(names) == set(), f"{task}: say why in docs/qd-pg.md"


def algorithm_pages():
    nav = (ROOT / "mkdocs.yml").read_text().split("- Algorithms:")[1].split("- Fidelity")[0]
    return [DOCS / page for page in re.findall(r": (\S+\.md)$", nav, re.MULTILINE)]


@pytest.mark.parametrize("page", algorithm_pages(), ids=name_of)
def test_an_algorithm_page_has_the_same_parts_as_the_others(page):
    text = page.read_text()
    heads = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [head for head in heads if head in SECTIONS] == list(SECTIONS)
    parts = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert len(re.findall(r"[.!?](?=\s|$)", parts["The idea"])) <= 4, "three sentences, or nearly"
    assert re.search(r"^    \S", parts["The equation"], re.MULTILINE)
    assert re.search(r"!\[[^]]+\]\(figures/algorithms/", parts["A picture"])
    assert "```sh\nqdpg train" in parts["How to run it"]
    assert "<!-- from: " in parts["What it reaches here"]


def test_every_algorithm_is_on_a_page():
    written = "".join(page.read_text() for page in algorithm_pages())
    assert [name for name in ALGORITHMS if f"`{name}`" not in written and f"--algorithm {name}" not in written] == []


def test_numbers_of_the_tasks_are_those_of_the_code():
    table = (DOCS / "tasks.md").read_text().split("| | point-maze | ant-maze | ant-trap |")[1].split("\n\n")[0]
    rows = {
        cells[0]: cells[1:]
        for cells in ([c.strip() for c in line.strip("|").split("|")] for line in table.splitlines())
    }
    specs = [make_task(name).spec for name in ("point-maze", "ant-maze", "ant-trap")]
    assert rows["observations, actions"] == [f"{spec.observation_size}, {spec.action_size}" for spec in specs]
    assert rows["horizon (steps)"] == [f"{spec.horizon:,}" for spec in specs]
    assert rows["solved"] == ["no threshold" if each.solved is None else f"above {each.solved:g}" for each in specs]
    assert rows["evaluated every (steps)"] == [f"{spec.evaluate_every:,}" for spec in specs]


def test_the_picture_of_the_rooms_has_all_rooms():
    drawn = re.findall(r'font-weight="600"[^>]*>(\w+)<', (DOCS / "figures" / "rooms.svg").read_text())
    rooms = {path.parent.name for path in (ROOT / "src" / "qdpg").glob("*/__init__.py")}
    assert sorted(drawn) == sorted(rooms)


def test_the_version_to_cite_is_the_version():
    assert f"\nversion: {qdpg.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize("text", [text for text in TEXTS if text.name != "HISTORY.md"], ids=name_of)
def test_private_words_are_gone(text):
    assert PRIVATE.findall(text.read_text()) == []


def public_objects():
    """What a user may import: names of the package, and contracts for code of one's own."""
    names = [f"qdpg.{name}" for name in qdpg.__all__ if name not in {"__version__", "callbacks"}]
    names += [name for group in site_pages.CONTRACTS.values() for name in group if name != "qdpg.callbacks"]
    for name in [*names, *(f"qdpg.callbacks.{each}" for each in qdpg.callbacks.__all__)]:
        module, _, attribute = name.rpartition(".")
        yield name, getattr(importlib.import_module(module), attribute)


def test_every_public_name_has_a_docstring_and_types():
    missing = []
    for name, found in public_objects():
        functions = {name: found}
        if inspect.isclass(found):
            members = {key: value for key, value in vars(found).items() if not key.startswith("_")}
            functions = {
                f"{name}.{key}": value
                for key, value in members.items()
                if callable(value) and not inspect.isclass(value)
            }
            if not (inspect.getdoc(found) or "").strip():
                missing.append(name)
        for where, function in functions.items():
            function = getattr(function, "__func__", function)
            if not inspect.isfunction(function):
                continue
            parameters = [
                each for key, each in inspect.signature(function).parameters.items() if key not in ("self", "cls")
            ]
            is_typed = all(each.annotation is not inspect.Parameter.empty for each in parameters)
            if not (inspect.getdoc(function) or "").strip():
                missing.append(f"{where}: docstring")
            if not is_typed or inspect.signature(function).return_annotation is inspect.Signature.empty:
                missing.append(f"{where}: types")
        if dataclasses.is_dataclass(found) and not hasattr(found, "spec"):
            undocumented = [
                each.name for each in dataclasses.fields(found) if f"{each.name}:" not in (found.__doc__ or "")
            ]
            missing += [f"{name}.{each}: meaning" for each in undocumented]
    assert missing == []


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    own = ROOT / ".venv-docs" / "bin" / "python"
    if not own.exists() and any(importlib.util.find_spec(name) is None for name in ("mkdocs", "mkdocstrings")):
        pytest.skip("mkdocs is not installed; `make docs` installs it")
    python = str(own) if own.exists() else sys.executable
    command = [python, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    settings = (tmp_path / "from-code" / "settings.html").read_text()
    assert "visited_threshold" in settings
    assert "qdpg.load_run" in (tmp_path / "from-code" / "python.html").read_text()
    assert "--until-solved" in (tmp_path / "from-code" / "cli.html").read_text()
