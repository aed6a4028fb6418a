"""One HTML page with everything in it, and the same as Markdown."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qdpg.report.tables import Table, escape_markdown, to_html, to_markdown

_STYLE = """
:root { --ink: #1d2129; --soft: #5b6270; --line: #dfe2e8; --band: #f6f7f9; --warn: #8a4b00; --warn-band: #fff4e0; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 5rem; max-width: 78rem; color: var(--ink); background: #fff;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.4rem; margin: 3.2rem 0 .6rem; padding-top: .8rem; border-top: 2px solid var(--ink); }
h3 { font-size: 1.08rem; margin: 2.2rem 0 .5rem; }
p { margin: .5rem 0; max-width: 62rem; }
nav { margin: 1.2rem 0; font-size: .92rem; }
nav a { color: #0b5394; text-decoration: none; margin-right: 1.2rem; }
nav a:hover { text-decoration: underline; }
.warning { background: var(--warn-band); color: var(--warn); border-left: 4px solid #e69f00; padding: .6rem .9rem;
  max-width: 62rem; }
.table { overflow: auto; max-height: max(48rem, 85vh); border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: .88rem; }
th { position: sticky; top: 0; background: #eceef2; font-weight: 600; text-align: left; cursor: pointer; z-index: 1;
  border-bottom: 1px solid #c4c9d2; vertical-align: bottom; }
th, td { padding: .38rem .7rem; }
td { border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:nth-child(even) td { background: var(--band); }
tbody tr:hover td { background: #e8f1fb; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td:first-child { font-weight: 600; white-space: nowrap; }
.notes { color: var(--soft); font-size: .84rem; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px; }
figcaption { color: var(--soft); font-size: .84rem; max-width: 62rem; }
code { font: .88em ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
@media print { .table { max-height: none; overflow: visible; } }
"""

# A click on a head sorts its table: by number where cells begin with one, else by letters.
_SCRIPT = """
for (const head of document.querySelectorAll("th")) {
  head.title = "sort";
  head.addEventListener("click", () => {
    const body = head.closest("table").tBodies[0], column = head.cellIndex;
    const up = head.dataset.up = head.dataset.up === "1" ? "0" : "1";
    const key = row => {
      const text = row.cells[column].textContent.trim();
      const value = text.startsWith("∞") ? Infinity : parseFloat(text.replaceAll(",", ""));
      return Number.isNaN(value) ? text : value;
    };
    const order = (a, b) => typeof a === "number" && typeof b === "number" ? (a < b ? -1 : a > b ? 1 : 0)
      : typeof a === "number" ? -1 : typeof b === "number" ? 1 : a.localeCompare(b);
    [...body.rows].sort((a, b) => order(key(a), key(b)) * (up === "1" ? 1 : -1)).forEach(row => body.append(row));
  });
}
"""

# The browser itself makes sure that nothing is fetched from anywhere.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@dataclass(frozen=True)
class Picture:
    """A figure: the name of its file, what it shows, its PNG, and other formats by their endings."""

    name: str
    caption: str
    png: bytes
    others: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """A part of the report: paragraphs, then tables and pictures in this order."""

    title: str
    paragraphs: Sequence[str] = ()
    warning: str = ""
    items: Sequence[Table | Picture] = field(default_factory=tuple)


def to_page(title: str, paragraphs: Sequence[str], sections: Sequence[Section]) -> str:
    """Write the report as one HTML page that needs nothing else."""
    links = "".join(f'<a href="#part-{i}">{html.escape(s.title)}</a>' for i, s in enumerate(sections))
    intro = "".join(f"<p>{html.escape(text)}</p>" for text in paragraphs)
    body = "\n".join(_section(i, section) for i, section in enumerate(sections))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{html.escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
{intro}
<nav>{links}</nav>
{body}
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _section(index: int, section: Section) -> str:
    parts = [f'<h2 id="part-{index}">{html.escape(section.title)}</h2>']
    parts += [f"<p>{html.escape(text)}</p>" for text in section.paragraphs]
    if section.warning:
        parts.append(f'<p class="warning">{html.escape(section.warning)}</p>')
    for item in section.items:
        if isinstance(item, Table):
            parts.append(f"<h3>{html.escape(item.title)}</h3>\n{to_html(item)}")
        else:
            caption, content = html.escape(item.caption), base64.b64encode(item.png).decode()
            image = f'<img alt="{caption}" src="data:image/png;base64,{content}">'
            parts.append(f"<figure>{image}<figcaption>{caption}</figcaption></figure>")
    return "\n".join(parts)


def to_text(title: str, paragraphs: Sequence[str], sections: Sequence[Section], figures: str) -> str:
    """Write the report as Markdown; pictures are links into the directory `figures`."""
    parts = [f"# {escape_markdown(title)}", *map(escape_markdown, paragraphs)]
    for section in sections:
        parts.append(f"## {escape_markdown(section.title)}")
        parts += map(escape_markdown, section.paragraphs)
        if section.warning:
            parts.append(f"> **{escape_markdown(section.warning)}**")
        for item in section.items:
            if isinstance(item, Table):
                parts += [f"### {escape_markdown(item.title)}", to_markdown(item).rstrip()]
            else:
                caption = escape_markdown(item.caption)
                parts += [f"![{caption}]({figures}/{item.name}.png)", caption]
    return "\n\n".join(parts) + "\n"
