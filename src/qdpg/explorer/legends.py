"""Small pieces of HTML and Markdown. Pure; all words are escaped, since runs may come from strangers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import numpy as np
from matplotlib import colormaps

from qdpg.explorer.archive import EMPTY, KINDS
from qdpg.report.words import number, plural

_BOX = "font-size:0.85em;padding:0 0.8em 0.4em"


def as_markdown(text: str) -> str:
    """Any text as Markdown that shows just that: viser would make elements of a page of HTML in it."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def bar(values: np.ndarray, what: str) -> str:
    """A bar of colours from the lowest to the highest of values [n]; those that are not finite are counted apart."""
    known = values[np.isfinite(values)]
    if not len(known):
        return f'<div style="{_BOX}">no {escape(what)} yet</div>'
    stops = ",".join(_css(255 * np.array(colormaps["viridis"](share)[:3])) for share in np.linspace(0, 1, 9))
    ends = (
        f'<div style="display:flex;justify-content:space-between"><span>{number(known.min())}</span>'
        f"<span>{escape(what)}</span><span>{number(known.max())}</span></div>"
    )
    strip = f'<div style="height:0.7em;border-radius:2px;background:linear-gradient(90deg,{stops})"></div>'
    return f'<div style="{_BOX}">{strip}{ends}{_grey(len(values) - len(known))}</div>'


def kinds(values: np.ndarray, names: Sequence[str]) -> str:
    """A line for each kind that is there, numbered as in values [n], with how many there are."""
    found, counts = np.unique(values[np.isfinite(values)].astype(int), return_counts=True)
    lines = []
    for kind, count in zip(found, counts, strict=True):
        lines.append(f"<div>{_dot(KINDS[kind % len(KINDS)])} {escape(name_of(kind, names))}: {count:,}</div>")
    return f'<div style="{_BOX}">{"".join(lines)}{_grey(int((~np.isfinite(values)).sum()))}</div>'


def name_of(kind: int, names: Sequence[str]) -> str:
    """What an emitter is called; a log may name one that nobody knows."""
    return names[kind] if 0 <= kind < len(names) else f"emitter {kind}"


def agents(lines: Sequence[str], colours: Sequence[tuple[int, int, int]]) -> str:
    """A line of words for each agent, with its colour."""
    said = [f"<div>{_dot(colour)} {escape(line)}</div>" for line, colour in zip(lines, colours, strict=False)]
    return f'<div style="{_BOX}">{"".join(said)}</div>'


def _grey(cells: int) -> str:
    return f"<div>{_dot(EMPTY)} {plural(cells, 'cell')} without</div>" if cells else ""


def _dot(colour: Sequence[float]) -> str:
    return f'<span style="color:{_css(colour)}">&#9632;</span>'


def _css(colour: Sequence[float] | np.ndarray) -> str:
    return f"rgb({','.join(str(round(float(part))) for part in colour)})"
