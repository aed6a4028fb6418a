"""Write requirements.lock: exact versions with the digests of all their files, so that nothing else can be installed.

`make lock` takes the versions of the environment. `python tools/lock.py --keep` takes those that the lock has already,
for example after a line `name==version` was added to it by hand; `--keep requirements-docs.lock` does so for the site.
`--for-site` writes requirements-docs.lock: of both locks, what qdpg and its site need, and nothing that only tests and
extras do. Both must be installed.
"""

from __future__ import annotations

import argparse
import html
import re
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import requires
from pathlib import Path

from pip._internal.models.index import PyPI
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from pip._vendor.packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[1]
LOCK, SITE = ROOT / "requirements.lock", ROOT / "requirements-docs.lock"
HEAD = "# Exact versions, each with the SHA-256 of all its files. Written by tools/lock.py.\n"


def versions(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Name and version of every `name==version`, sorted by name; qdpg itself is left out."""
    found = {m[1]: m[2] for line in lines if (m := re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", line))}
    for name in sorted(found, key=str.lower):
        if name != "qdpg":
            yield name, found[name]


def find_digests(page: str, version: str) -> list[str]:
    """The digests of all files of a version that a page of an index links to."""
    digests = set()
    for link in re.findall(r'href="([^"]+)"', page):
        address, _, fragment = html.unescape(link).partition("#")
        if fragment.startswith("sha256=") and _version_of(address.rsplit("/", 1)[-1]) == Version(version):
            digests.add(fragment.removeprefix("sha256="))
    return sorted(digests)


def _version_of(name: str) -> Version | None:
    """The version of a wheel or a source archive; None if it is neither."""
    try:
        return parse_wheel_filename(name)[1] if name.endswith(".whl") else parse_sdist_filename(name)[1]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None


def entry(name: str, version: str, index: str) -> str:
    """The lines of one package."""
    with urllib.request.urlopen(f"{index.rstrip('/')}/{canonicalize_name(name)}/", timeout=60) as answer:
        digests = find_digests(answer.read().decode(), version)
    if not digests:
        raise SystemExit(f"the index has no digests of {name} {version}")
    return f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{each}" for each in digests) + "\n"


def closure(wanted: Iterable[str]) -> set[str]:
    """The names of all that is needed by what is wanted, as the installed packages say."""
    seen: set[tuple[str, frozenset[str]]] = set()
    todo = [Requirement(each) for each in wanted]
    while todo:
        one = todo.pop()
        key = (canonicalize_name(one.name), frozenset(one.extras))
        if key in seen:
            continue
        seen.add(key)
        for text in requires(one.name) or ():
            further = Requirement(text)
            if further.marker is None or any(further.marker.evaluate({"extra": e}) for e in one.extras or {""}):
                todo.append(further)
    return {name for name, _ in seen}


def for_site() -> str:
    """The lock of the site, made of the entries that both locks have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = closure([*project["dependencies"], *project["optional-dependencies"]["docs"]])
    entries = {}
    for lock in (LOCK, SITE):
        for text in re.split(r"\n(?=[A-Za-z0-9._-]+==)", lock.read_text().partition("\n")[2].strip("\n")):
            entries.setdefault(canonicalize_name(text.partition("==")[0]), text + "\n")
    return HEAD + "".join(entries[name] for name in sorted(needed))


def main() -> None:
    """Write the lock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the versions that the lock has")
    parser.add_argument("--for-site", action="store_true", help="write the lock of the site from what both have")
    parser.add_argument("lock", type=Path, nargs="?", default=LOCK)
    given = parser.parse_args()
    if given.for_site:
        SITE.write_text(for_site())
        return
    pip = [sys.executable, "-m", "pip"]
    if given.keep:
        lines = given.lock.read_text().splitlines()
    else:
        frozen = subprocess.run([*pip, "freeze", "--exclude-editable"], capture_output=True, text=True, check=True)
        lines = frozen.stdout.splitlines()
    chosen = subprocess.run([*pip, "config", "get", "global.index-url"], capture_output=True, text=True, check=False)
    index = chosen.stdout.strip() or PyPI.simple_url
    with ThreadPoolExecutor(4) as pool:
        entries = list(pool.map(lambda pair: entry(*pair, index), versions(lines)))
    given.lock.write_text(HEAD + "".join(entries))


if __name__ == "__main__":
    main()
