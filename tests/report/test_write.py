"""The whole report of real runs: complete, self-contained, the same every time; and a browser opens it."""

from __future__ import annotations

import base64
import csv
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from real_runs import real_runs
from safetensors.numpy import save_file

from qdpg.errors import UserError
from qdpg.report.page import Section, to_page, to_text
from qdpg.report.write import write_report

pytestmark = [pytest.mark.xdist_group("report")]
FIGURES = (*(f"curves-{name}" for name in ("performance", "best-elite", "stored", "coverage")), "coverage-maps")
FIGURES += ("final-grids",)
TABLES = ("final-performance", "steps-to-goal", "interquartile-means", "time-and-memory")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless_shell")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    return write_report([real_runs()], out).parent


class Reader(HTMLParser):
    """Collects what a page refers to, its tables and its words, and makes sure that every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.rows: list[list[str]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "img"):
            self.open.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1].append(data)


def test_everything_is_there_and_nothing_else(report: Path) -> None:
    prefixes = ("point-maze", "point-maze-with-horizon-50")
    files = {"report.html", "report.md", "tables/components.csv", "tables/runs.csv", "tables/all-tasks.csv"}
    files |= {f"figures/{prefix}-{name}.png" for prefix in prefixes for name in FIGURES}
    files |= {f"tables/{prefix}-{name}.csv" for prefix in prefixes for name in TABLES}
    assert {path.relative_to(report).as_posix() for path in report.rglob("*") if path.is_file()} == files


def test_page_needs_nothing_but_itself(report: Path) -> None:
    text = (report / "report.html").read_text()
    page = Reader(text)
    assert not page.open
    embedded = [reference for reference in page.references if reference.startswith("data:image/png;base64,")]
    inside = [reference for reference in page.references if reference.startswith("#part-")]
    assert set(page.references) == {*embedded, *inside, "data:,"}
    pictures = {base64.b64decode(reference.split(",")[1]) for reference in embedded}
    assert pictures == {path.read_bytes() for path in (report / "figures").iterdir()}
    assert not re.search(r"https?://|@import|url\(|@font-face", text)
    assert str(real_runs()) not in text, "no paths of this machine"


def test_page_tables_and_markdown_hold_the_same_numbers(report: Path) -> None:
    page = Reader((report / "report.html").read_text())
    rows = [row for row in page.rows if row and row[0] == "map-elites"]
    with (report / "tables" / "point-maze-final-performance.csv").open() as file:
        record = next(record for record in csv.DictReader(file) if record["algorithm"] == "map-elites")
    for column, name in ((1, "evaluated_best"), (4, "final"), (5, "best_elite")):
        median, spread = float(record[f"{name}_median"]), float(record[f"{name}_half_iqr"])
        shown = f"{median:,.1f} ± {spread:,.1f}†"
        assert rows[0][column] == shown
        assert shown in (report / "report.md").read_text()
    assert rows[0][3] == f"{float(record['share_own_cell_median']):.0%}†"
    words = " ".join(page.words)
    assert "Not the paper's budget. 6,000 steps and 2 seeds here, 1,000,000 steps and 5 seeds in the paper" in words
    assert "5 finished runs of 2 tasks: point-maze, point-maze with horizon=50." in words
    for line in re.findall(r"\]\((.*)\)", (report / "report.md").read_text()):
        assert (report / line).is_file()


def test_same_runs_give_the_same_report(report: Path, tmp_path: Path) -> None:
    write_report([real_runs()], tmp_path)
    for path in report.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / path.relative_to(report)).read_bytes(), path.name


def test_a_run_that_cannot_be_read_does_not_stop_the_report(tmp_path: Path) -> None:
    matrix = Path(shutil.copytree(real_runs(), tmp_path / "matrix"))
    (matrix / "point-maze" / "qd-pg" / "seed-0" / "episodes.csv").unlink()
    text = write_report([matrix], tmp_path / "out", formats=["svg"]).with_suffix(".md").read_text()
    assert "1 run failed or cannot be read" in text
    assert "episodes.csv is missing" in text
    figures = tmp_path / "out" / "figures"
    assert {path.stem for path in figures.glob("*.svg")} == {path.stem for path in figures.glob("*.png")} != set()
    assert all(path.read_bytes().startswith(b"<?xml") for path in figures.glob("*.svg"))


def test_a_report_of_ones_own_tasks_does_not_speak_of_the_paper(tmp_path: Path) -> None:
    text = write_report([real_runs() / "other"], tmp_path / "out").with_suffix(".md").read_text()
    assert "map-elites" in text
    assert "paper" not in text.lower()
    assert "| qd-pg |" not in text, "it did not run"


def test_nothing_is_written_when_nothing_can_be_read(tmp_path: Path) -> None:
    matrix = Path(shutil.copytree(real_runs(), tmp_path / "matrix"))
    save_file({}, matrix / "other" / "short" / "elites" / "elites.safetensors")
    with pytest.raises(UserError, match=r"has saved anything yet. The first that cannot be read: .*elites"):
        write_report([matrix / "other"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="in the way"):
        write_report([real_runs() / "other"], tmp_path / "file")


def test_words_of_others_are_escaped() -> None:
    nasty = "<img src=x onerror=alert(1)> & `*_"
    page = Reader(to_page(nasty, [nasty], [Section(nasty, [nasty], nasty)]))
    assert "x" not in page.references
    assert page.words.count(nasty) == 7, (
        "title, heading, paragraph, link; heading, paragraph and warning of the section"
    )
    assert "<img" not in to_text(nasty, [nasty], [Section(nasty, [nasty], nasty)], "figures").replace("\\<img", "")


def browse(page: Path, profile: Path) -> tuple[str, list[str]]:
    """Open a page without a network; return its document as the browser has it and the console's messages."""
    assert BROWSER is not None
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    options += [f"--user-data-dir={profile}", "--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND"]
    # The browser keeps its own files where it is told to.
    environment = os.environ | {"HOME": str(profile), "XDG_CONFIG_HOME": str(profile), "XDG_CACHE_HOME": str(profile)}
    command = [BROWSER, *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")
def test_chromium_opens_the_page_without_a_network_and_without_errors(report: Path, tmp_path: Path) -> None:
    _, messages = browse(report / "report.html", tmp_path / "profile")
    assert messages == []
    probe = """<script>
      const heads = document.querySelectorAll("table")[0].querySelectorAll("th");
      const column = () => [...document.querySelectorAll("table")[0].tBodies[0].rows].map(r => r.cells[0].textContent);
      const before = column().join(); heads[0].click(); const up = column().join(); heads[0].click();
      addEventListener("load", () => { document.body.dataset.seen = [before, up, column().join(),
        [...document.images].filter(i => i.naturalWidth > 100).length, document.images.length].join(";"); });
    </script></body>"""
    copy = tmp_path / "probed.html"
    copy.write_text((report / "report.html").read_text().replace("</body>", probe))
    document, messages = browse(copy, tmp_path / "profile")
    assert messages == []
    seen = re.search(r'data-seen="([^"]*)"', document)
    assert seen is not None
    before, up, down, drawn, pictures = seen[1].split(";")
    assert (before, up, down) == ("qd-pg,map-elites", "map-elites,qd-pg", "qd-pg,map-elites"), "a click sorts"
    assert drawn == pictures == "12", "every picture is shown"
    # The same page would be caught if it wanted something from elsewhere, or if a script failed.
    copy.write_text((report / "report.html").read_text().replace("</body>", '<img src="http://a.test/b.png"></body>'))
    assert browse(copy, tmp_path / "profile")[1]
