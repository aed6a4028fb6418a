"""Build the wheel into dist/, install it into an empty environment as a user would, and train with it.

    python tools/try_wheel.py

Everything but the wheel is thrown away again. Nothing of this directory can be imported there, so what is missing in
the wheel is noticed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = re.search(r'__version__ = "(.+)"', (ROOT / "src" / "qdpg" / "version.py").read_text())[1]  # type: ignore[index]
COMMANDS = (
    "--version",
    "train point-maze --algorithm map-elites --steps 4000 --evaluate-seconds 0 --out first --quiet",
    "show first",
    "verify first",
    "settings qd-pg --task point-maze",
)


def run(*words: str | Path, cwd: Path) -> str:
    """Run a command and return what it printed; ends here if it fails."""
    print("$", *words, flush=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run([*map(str, words)], cwd=cwd, env=clean, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Build, install, use."""
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet")
    run(sys.executable, *pip, "wheel", "--no-deps", "-w", ROOT / "dist", ROOT, cwd=ROOT)
    wheel = ROOT / "dist" / f"qdpg-{VERSION}-py3-none-any.whl"
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        run(sys.executable, "-m", "venv", place / "empty", cwd=place)
        run(place / "empty" / "bin" / "python", *pip, "install", wheel, cwd=place)
        for command in COMMANDS:
            said = run(place / "empty" / "bin" / "qdpg", *command.split(), cwd=place)
            if command == "--version" and said != f"qdpg {VERSION}\n":
                sys.exit(f"the wheel says {said!r}, but is {VERSION}")
    print(f"{wheel.relative_to(ROOT)} installs into an empty environment and trains")


if __name__ == "__main__":
    main()
