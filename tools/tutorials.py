"""Tutorials are scripts that become pages, with what they printed and drew.

    python tools/tutorials.py                  # run all of examples/tutorials, write docs/tutorials
    python tools/tutorials.py own_robot        # one of them
    python tools/tutorials.py --text           # write pages anew without running anything, where only text has changed

A script is made of cells: `# %% [markdown]` begins text, in comments, `# %%` begins code, and `# %% [file] NAME` shows
a file that lies beside the script. Whatever a cell prints, and every picture that it writes, is shown below it. Runs
and pictures go to a directory of their own.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SCRIPTS, PAGES = ROOT / "examples" / "tutorials", ROOT / "docs" / "tutorials"
NAMES = ("first_collection", "qd_pg_step_by_step", "own_robot")
_PICTURES = {".png", ".gif"}


class Cell(NamedTuple):
    """A part of a script.

    Attributes:
        kind: "text", "code" or "file".
        content: Markdown, Python, or the name of a file.
    """

    kind: str
    content: str


class Shown(NamedTuple):
    """What a cell of code printed, and the pictures that it wrote."""

    printed: str
    pictures: list[str]


def split(script: str) -> list[Cell]:
    """The cells of a script, in order."""
    cells = []
    for part in re.split(r"^# %%", script, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            cells.append(Cell("text", re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip("\n")))
        elif "[file]" in head:
            cells.append(Cell("file", head.split()[-1]))
        else:
            cells.append(Cell("code", body.strip("\n")))
    return cells


def play(cells: list[Cell], name: str) -> Iterator[Shown | None]:
    """Run the cells of code one after another, where we are; None for others. Files are copied to here."""
    names: dict[str, object] = {"__name__": name}
    for number, cell in enumerate(cells):
        if cell.kind == "file":
            shutil.copy(SCRIPTS / cell.content, cell.content)
        if cell.kind != "code":
            yield None
            continue
        before, printed = set(Path().iterdir()), io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(cell.content, f"{name}, cell {number}", "exec"), names)
        new = sorted(each.name for each in set(Path().iterdir()) - before if each.suffix in _PICTURES)
        yield Shown(printed.getvalue().rstrip(), new)


def make_page(name: str, cells: list[Cell], shown: list[Shown | None]) -> str:
    """The page of a tutorial."""
    parts = [f"<!-- Made by tools/tutorials.py from examples/tutorials/{name}.py: change that. -->"]
    for cell, seen in zip(cells, shown, strict=True):
        parts.append(cell.content if cell.kind == "text" else show_code(cell))
        if seen is not None and seen.printed:
            parts.append(f"```text\n{seen.printed}\n```")
        for picture in [] if seen is None else seen.pictures:
            parts.append(f"![{picture.partition('.')[0].replace('-', ' ')}]({name.replace('_', '-')}/{picture})")
    where = f"[`examples/tutorials/{name}.py`](../../examples/tutorials/{name}.py)"
    parts.append(f"---\n\nAll of this page as a script: {where}.")
    return "\n\n".join(parts) + "\n"


def read_shown(page: str, cells: list[Cell]) -> list[Shown | None]:
    """What cells of code printed and drew when the page was made.

    Raises:
        ValueError: A cell of code is not on the page as it is.
    """
    shown: list[Shown | None] = []
    for cell in cells:
        if cell.kind != "code":
            shown.append(None)
            continue
        _, found, rest = page.partition(show_code(cell))
        if not found:
            raise ValueError(f"code has changed, so it must be run:\n{cell.content}")
        below = re.match(r"\s*(?:```text\n(.*?)\n```)?((?:\s*!\[[^]]*\]\([^)]*\))*)", rest, re.DOTALL)
        assert below is not None
        shown.append(Shown(below[1] or "", re.findall(r"/([^/)]+)\)", below[2])))
    return shown


def show_code(cell: Cell) -> str:
    """Code, or a file, as a block of Markdown."""
    if cell.kind == "code":
        return f"```python\n{cell.content}\n```"
    return f"```{'xml' if cell.content.endswith('xml') else 'python'}\n{(SCRIPTS / cell.content).read_text()}```"


def main(names: list[str]) -> None:
    """Run tutorials and write their pages."""
    import matplotlib as mpl

    mpl.use("agg")
    if "--text" in names:
        for name in NAMES:
            page, cells = PAGES / f"{name.replace('_', '-')}.md", split((SCRIPTS / f"{name}.py").read_text())
            page.write_text(make_page(name, cells, read_shown(page.read_text(), cells)))
        return
    for name in names or NAMES:
        cells, before = split((SCRIPTS / f"{name}.py").read_text()), Path.cwd()
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            sys.path.insert(0, directory)  # tutorials may write files and import them
            try:
                shown = list(play(cells, name))
            finally:
                os.chdir(before)
                sys.path.remove(directory)
            pictures = PAGES / name.replace("_", "-")
            shutil.rmtree(pictures, ignore_errors=True)
            pictures.mkdir(parents=True)
            for picture in (each for seen in shown if seen is not None for each in seen.pictures):
                shutil.copy(Path(directory) / picture, pictures)
        page = PAGES / f"{name.replace('_', '-')}.md"
        page.write_text(make_page(name, cells, shown))
        print(page.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
