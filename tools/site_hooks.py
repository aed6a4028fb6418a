"""What mkdocs does beside its own work: pages made from the code, files from outside docs/, and links to both."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import quotes
import site_pages
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
TEXTS = ("CONTRIBUTING.md", "HISTORY.md", "SECURITY.md")  # become pages under project/
CODE = ("examples", "benchmarks")  # can be linked to; copied to project/ as they are
# How much a page counts in the search: words and settings more than others, logs and signatures less.
BOOST = {
    "glossary": 3,
    "from-code/settings": 2,
    "from-code/python": 0.4,
    "research/": 0.3,
    "results/": 0.5,
    "project/": 0.3,
    "fidelity": 0.5,
}
_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def on_files(files: Any, config: Any) -> Any:
    """Add what does not lie in docs/."""
    for name, text in site_pages.make_pages().items():
        files.append(File.generated(config, f"from-code/{name}", content=text))
    for name in TEXTS:
        files.append(File.generated(config, f"project/{name}", content=(ROOT / name).read_text()))
    for path in sorted(path for folder in CODE for path in (ROOT / folder).rglob("*") if _is_shown(path)):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, f"project/{name}", content=path.read_bytes()))
    return files


def _is_shown(path: Path) -> bool:
    return path.is_file() and path.suffix in {".py", ".xml", ".toml"} and "build" not in path.parts


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Fill in quotes and values; point links that leave docs/ to where such files stand; weigh the page for search."""
    markdown = site_pages.add_values(quotes.fill(markdown))
    own = page.file.src_uri
    page.meta.setdefault("search", {"boost": next((to for start, to in BOOST.items() if own.startswith(start)), 1)})

    def move(match: re.Match[str]) -> str:
        target = redirect(own, match[2])
        return f"{match[1]}{target}{match[3] or ''}{match[4]}"

    return _LINK.sub(move, markdown)


def redirect(page: str, link: str) -> str:
    """Where a link on a page leads in the site.

    Args:
        page: Path of the page in the site's sources.
        link: As it is written, relative to where the page's file lies in the repository.
    """
    if "://" in link or link.startswith("mailto:"):
        return link
    is_outside = page.startswith("project/")
    folder = posixpath.dirname(page.removeprefix("project/") if is_outside else f"docs/{page}")
    path = posixpath.normpath(posixpath.join(folder, link))  # from the repository's root
    if not is_outside and path.startswith("docs/"):
        return link
    place = path.removeprefix("docs/") if path.startswith("docs/") else f"project/{path}"
    return posixpath.relpath(place, posixpath.dirname(page) or ".")
