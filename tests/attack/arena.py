"""Where attacks happen: victims, something precious beside them, and what undamaged victims give."""

import contextlib
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import damage
import strangers
from victims import (
    ALGORITHMS,
    MORE,
    copy_of,
    files_of,
    limited,
    make_victim,
    plain_log,
    results_of,
    run,
    serve,
    state_of,
    without_clock,
)

RESUME = ("--steps", str(MORE), "--evaluate-seconds", "0", "--checkpoint-seconds", "0", "--quiet")
# What is called -> further words, and what it leaves that must be the same as that of a run without damage.
COMMANDS = {
    "show": (("--json",), ()),
    "verify": (("--json",), ()),
    "resume": (RESUME, ()),
    "plot": (("--quiet",), ("figures",)),
    "evaluate": (
        ("--json", "--seed", "1", "--episodes", "6"),
        ("elites/evaluated.csv", "elites/evaluated-episodes.csv"),
    ),
    "adapt": (("--trials", "2", "--goals", "3", "--quiet"), ("adapt",)),
    "report": (("--quiet", "--out", "report"), ("../report/tables",)),
    "export npz": (("--to", "npz", "--all", "--quiet"), ("export",)),
    "export onnx": (("--to", "onnx", "--best", "--quiet"), ("export",)),
    "export gif": (("--to", "gif", "--best", "--seconds", "1", "--quiet"), ("export",)),
    "explore": (("--to", "page.html", "--quiet"), ("../page.html",)),
    "explore served": (("--port", "0"), ()),
}
OF_MATRIX = {  # the same, of a comparison one of whose two runs has not begun
    "compare": (("--evaluate-seconds", "0", "--jobs", "1", "--quiet"), ()),
    "report": (("--quiet", "--out", "report"), ("../report/tables",)),
}
PRINTED = ("show", "verify", "evaluate")  # whose words must be the same


@dataclass
class Arena:
    """A directory with victims and something precious beside them."""

    path: Path
    algorithms: tuple[str, ...] = tuple(ALGORITHMS)
    compares: bool = True  # whether comparisons are attacked too, which takes longer

    def __post_init__(self):
        self.path.mkdir(parents=True, exist_ok=True)
        outside = self.path / "outside"
        if not outside.exists():
            outside.mkdir()
            (outside / "precious.txt").write_text("not yours\n" * 100)
        self.outside = files_of(outside)
        self.traps = self.path / "traps"  # where Python looks for modules
        self.traps.mkdir(exist_ok=True)
        strangers.set_traps(self.traps, "payload")
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, str(self.traps)])
        self._expected = {}
        self.run = run  # how commands are run

    def victim(self, kind, seed=5):
        """A run or a comparison to attack, or with another seed one to take foreign files from."""
        path = self.path / f"victims-{seed}" / kind
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            made = path.with_name(f"{kind}-being-made")
            shutil.rmtree(made, ignore_errors=True)
            make_victim(made, kind, seed).rename(path)
        return path

    def stage(self):
        """An empty directory."""
        stage = self.path / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir()
        return stage

    def fresh(self, kind):
        """A copy of a victim, in a directory of its own."""
        victim = self.victim(kind)
        return copy_of(victim, self.stage() / damage.COPY)

    def is_unharmed(self):
        """Whether nothing beside the victims has changed."""
        return files_of(self.path / "outside") == self.outside

    def expected(self, kind, command):
        """What a command says and leaves of a victim without damage."""
        if (kind, command) not in self._expected:
            copy = self.fresh(kind)
            done = self.call(command, copy)
            assert done.code == 0, done
            self._expected[kind, command] = self.result(command, copy, done)
        return self._expected[kind, command]

    def words(self, command, name):
        """The command line that calls a command of a run or comparison."""
        of = OF_MATRIX if command == "compare" else COMMANDS
        return [command.split()[0], *(("--out", name) if command == "compare" else (name,)), *of[command][0]]

    def call(self, command, copy):
        """Call it, in the directory beside."""
        play = serve if command == "explore served" else self.run
        return play(*self.words(command, copy.name), cwd=copy.parent)

    def result(self, command, copy, done):
        """What came of a command, without clocks."""
        if command == "resume":
            return state_of(copy)
        if command == "compare":
            runs = [path.parent for path in sorted(copy.glob("*/*/*/config.json"))]
            return {path.name: results_of(path) for path in runs}  # a finished run has no use for its checkpoints
        left = {name: _left(copy / name) for name in COMMANDS[command][1]}
        return without_clock(done.out) if command in PRINTED else "", left


def _left(path):
    """Figures and tables by name; of tables only what no clock and no memory had a part in."""
    if path.suffix == ".csv":
        return plain_log(path)
    if path.suffix:
        return path.read_bytes() if path.exists() else None
    if path.name == "tables":
        kept = {each.name: each for each in path.glob("*.csv") if "time" not in each.name and each.name != "runs.csv"}
        return {name: plain_log(each) for name, each in kept.items()}
    return {name: found for name, found in files_of(path).items() if not name.endswith("trials.png")}


class Disk:
    """A small disk of its own where we may mount one, else a limit on the size of files."""

    def __init__(self, path, size=4 * 2**20):
        self.path, self._size, self.limit = path, size, None

    def __enter__(self):
        self.path.mkdir(exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={self._size}", "qdpg-attack", str(self.path)]
        self.is_mounted = os.geteuid() == 0 and subprocess.run(mount, check=False, capture_output=True).returncode == 0
        return self

    def __exit__(self, *_):
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.path)], check=True)
        else:
            for path in self.path.rglob("*"):
                path.chmod(0o755)
        shutil.rmtree(self.path, ignore_errors=True)

    def fill(self, room):
        """Leave so many bytes free."""
        if not self.is_mounted:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            self.limit = limited(FSIZE=room + 2000)
            return
        found = os.statvfs(self.path)
        filled = max(found.f_bavail * found.f_frsize - room, 0)
        with (self.path / "filler").open("wb") as file, contextlib.suppress(OSError):
            file.write(bytes(filled))

    def free(self):
        (self.path / "filler").unlink(missing_ok=True)

    def make_read_only(self):
        if self.is_mounted:
            subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True)
        else:
            for path in [*self.path.rglob("*"), self.path]:
                path.chmod(0o555)
