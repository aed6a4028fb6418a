"""The reference pages of the site, made from the code: Python, command line, settings."""

from __future__ import annotations

import contextlib
import io
import os
import re

import qdpg
from qdpg.algorithms.registry import ALGORITHMS
from qdpg.algorithms.settings import Setting, describe_settings
from qdpg.cli.main import app
from qdpg.cli.settings import format_value

# What somebody writes a task, an emitter, an algorithm or a callback with. All else of the interface is `qdpg.__all__`.
CONTRACTS = {
    "Tasks": (
        "qdpg.tasks.task.TaskSpec",
        "qdpg.tasks.gymnasium.GymnasiumTask",
        "qdpg.tasks.JaxTask",
        "qdpg.tasks.MujocoTask",
    ),
    "Emitters": ("qdpg.emitters.emitter.Emitter", "qdpg.emitters.emitter.Offspring", "qdpg.emitters.emitter.Context"),
    "Algorithms": ("qdpg.algorithms.algorithm.Algorithm", "qdpg.algorithms.archive.ArchiveAlgorithm"),
    "Callbacks": ("qdpg.callbacks",),
}
TASKS = ("point-maze", "ant-trap", "ant-maze")


def make_pages() -> dict[str, str]:
    """All pages, by file name."""
    return {"python.md": python_page(), "cli.md": cli_page(), "settings.md": settings_page()}


def python_page() -> str:
    """Every public name; mkdocstrings turns each line into its signature and docstring."""
    names = [name for name in qdpg.__all__ if name not in {"__version__", "callbacks"}]
    functions = [name for name in names if name.islower()]
    classes = [name for name in names if name not in functions]
    parts = [
        "# Python\n\nMade from the code. `import qdpg` has functions and classes; contracts are for code of your own.\n"
    ]
    for title, group in (("Functions", functions), ("Classes", classes)):
        parts += [f"## {title}\n", *(f"::: qdpg.{name}\n" for name in group)]
    for title, group in CONTRACTS.items():
        parts += [f"## {title}\n", *(f"::: {name}\n" for name in group)]
    return "\n".join(parts)


def cli_page() -> str:
    """The help of every command."""
    parts = ["# Command line\n\nMade from the code: what `qdpg COMMAND --help` prints.\n"]
    parts.append(_EXITS)
    for command in app._subcommands:  # tyro has no public list of them
        parts.append(f"## qdpg {command}\n\n```output\n{_help(command)}\n```\n")
    return "\n".join(parts)


_EXITS = """| exit code | meaning |
|---|---|
| 0 | done |
| 1 | some of it failed |
| 2 | bad input: one sentence says what is wrong and what to do |
| 3 | something is no longer finite |
| 130 | interrupted; what was trained is saved |
"""


def _help(command: str) -> str:
    """What `--help` prints, without colours and no wider than a page of the site."""
    printed, before = io.StringIO(), dict(os.environ)
    os.environ.update(COLUMNS="90", NO_COLOR="1")
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            app.cli(prog="qdpg", args=[command, "--help"])
    finally:
        os.environ.clear()
        os.environ.update(before)
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())


def settings_page() -> str:
    """Every setting of every algorithm: its values by task, and its meaning."""
    parts = [
        "# Settings of every algorithm\n\nMade from the code. Values are those of the preset `tuned`; *other* is a "
        "task that no preset names and that has two descriptors. `qdpg settings ALGORITHM --task TASK` prints the same "
        "with sources, also for the preset `paper`. [How to change them](../settings.md). [What ψ, ξ, 𝔸 and the words "
        "mean](../glossary.md). To find a setting by its name, use the search of the site or of your browser.\n"
    ]
    for name, entry in ALGORITHMS.items():
        parts.append(f"## {name}\n\n{entry.title}.\n\n{_table(name)}\n")
    return "\n".join(parts)


def _table(algorithm: str) -> str:
    by_task = {task or "other": _by_name(algorithm, task) for task in (None, *TASKS)}
    lines = [_row(["setting", "meaning", "value"]), "|---|---|---|"]
    for name, setting in by_task["other"].items():
        values = {task: format_value(settings[name].value) for task, settings in by_task.items()}
        lines.append(_row([f"`{name}`", setting.meaning, _join(values)]))
    return "\n".join(lines)


def _by_name(algorithm: str, task: str | None, preset: str = "tuned") -> dict[str, Setting]:
    return {each.name: each for each in describe_settings(algorithm, task, preset)}


_REASONS = re.compile(r"<!-- values: (\S+) ((?:\S+:\S+ )+)-->\n\| setting \| why \|\n\|---\|---\|\n((?:\|.*\n)+)")


def add_values(markdown: str) -> str:
    """Give tables of reasons, `| setting | why |`, a column of values for each task and preset that is named above.

    So a page says why, and the code says what: `<!-- values: qd-pg point-maze:paper point-maze:tuned -->`.
    """
    return _REASONS.sub(lambda match: _with_values(*match.groups()), markdown)


def _with_values(algorithm: str, columns: str, rows: str) -> str:
    presets = [column.split(":") for column in columns.split()]
    values = [_by_name(algorithm, task, preset) for task, preset in presets]
    several_tasks, several_presets = (len({pair[i] for pair in presets}) > 1 for i in (0, 1))
    titles = [", ".join([task] * several_tasks + [f"`{preset}`"] * several_presets) for task, preset in presets]
    lines = [_row(["setting", *titles, "why"]), "|---" * (len(titles) + 2) + "|"]
    for names, why in reasons(rows):
        cells = ["<br>".join(f"`{format_value(known[name].value)}`" for name in names) for known in values]
        lines.append(_row(["<br>".join(f"`{name}`" for name in names), *cells, why]))
    return "\n".join(lines) + "\n"


def reasons(rows: str) -> list[tuple[list[str], str]]:
    """What each row of a table of reasons is about, and what it says. `.share` goes with the group named before it."""
    found = []
    for row in rows.strip().splitlines():
        about, why = (cell.strip() for cell in row.strip("|").split("|", 1))
        names = re.findall(r"`([^`]+)`", about)
        group = names[0].rpartition(".")[0]
        found.append(([group + name if name.startswith(".") else name for name in names], why))
    return found


def _join(values: dict[str, str]) -> str:
    """One value if all tasks have the same, or else one line for each."""
    if len(set(values.values())) == 1:
        return f"`{values['other']}`"
    return "<br>".join(f'<span class="value">{task} `{value}`</span>' for task, value in values.items())


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
