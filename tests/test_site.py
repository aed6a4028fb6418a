"""The pages of docs/: each is in the navigation, links lead somewhere, commands and code in them can be typed."""

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from qdpg.cli.main import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NAV = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1], re.MULTILINE)
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, *sorted(ROOT.glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)|<img src=\"([^\"]+)\"")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


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
    assert len(rows) == 3
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


@pytest.mark.parametrize("text", TEXTS, ids=name_of)
def test_python_is_python(text):
    for language, block in BLOCK.findall(text.read_text()):
        if language == "python":
            ast.parse(block)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("mkdocstrings") is None:
        pytest.skip("mkdocs is not installed; `make docs` installs it")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    settings = (tmp_path / "from-code" / "settings.html").read_text()
    assert "visited_threshold" in settings
    assert "qdpg.load_run" in (tmp_path / "from-code" / "python.html").read_text()
    assert "--until-solved" in (tmp_path / "from-code" / "cli.html").read_text()
