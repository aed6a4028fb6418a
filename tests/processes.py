"""`qdpg` in real processes, forked from one that has imported the heavy libraries, which saves seconds for each."""

import multiprocessing
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        *("qdpg.cli.train", "qdpg.report.run_figures", "qdpg.runs.train", "qdpg.runs.collection"),
        *("qdpg.algorithms.qd_pg", "qdpg.algorithms.map_elites", "gymnasium", "mujoco", "typeguard"),
    ]
)


class Done(NamedTuple):
    """How a process ended; a signal's number is negative."""

    returncode: int
    stdout: str
    stderr: str


class Started:
    """A `qdpg` that runs."""

    def __init__(self, *words, cwd=None):
        self._said = [Path(tempfile.mkstemp(prefix="said")[1]) for _ in range(2)]
        self._process = _SERVER.Process(target=_main, args=([str(word) for word in words], cwd, self._said))
        self._process.start()
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)
        self._process.join()

    def end_of(self):
        """Wait for its end; return its code."""
        return self.wait().returncode

    def wait(self, timeout=300):
        """Wait for its end; return it."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            self.kill()
            raise TimeoutError(self.said())
        done = Done(self._process.exitcode, *self.said())
        for path in self._said:
            path.unlink()
        return done

    def said(self):
        return [path.read_text() for path in self._said]


def qdpg(*words, cwd=None):
    """Run the command line to its end."""
    return Started(*words, cwd=cwd).wait()


def _main(words, cwd, said):
    for number, path in enumerate(said, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), number)
    if cwd is not None:
        os.chdir(cwd)
    sys.argv = ["qdpg", *words]
    from qdpg.cli.start import main

    try:
        main()
    except SystemExit as ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code)  # daemon threads end with it, as they do in a process that was not forked
