"""`qdpg` in real processes, forked from one that has imported the heavy libraries, which saves seconds for each."""

import atexit
import multiprocessing
import os
import signal
import sys
import tempfile
import traceback
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


class Warm:
    """A process that runs one command after another: libraries are started once, and programs compiled once.

    What it finds must be looked at again in a process of its own, as users have it.
    """

    def __init__(self, most=100):
        """Make ready; after `most` commands, another process goes on."""
        self._most, self._process = most, None
        atexit.register(self.stop)  # else Python would wait for it at its own end

    def run(self, *words, cwd=None, timeout=300):
        """Run a command to its end.

        Raises:
            TimeoutError: It did not end.
        """
        if self._process is None or not self._process.is_alive() or self._left == 0:
            self.stop()
            self._ours, theirs = multiprocessing.Pipe()
            self._process, self._left = _SERVER.Process(target=_serve, args=(theirs,)), self._most
            self._process.start()
            theirs.close()
        self._left -= 1
        said = [Path(tempfile.mkstemp(prefix="said")[1]) for _ in range(2)]
        self._ours.send(([str(word) for word in words], cwd, said))
        try:
            code = self._ours.recv() if self._ours.poll(timeout) else None
        except EOFError:
            self._process.join()
            code = self._process.exitcode
        texts = [path.read_text(errors="replace") for path in said]
        for path in said:
            path.unlink()
        if code is None:
            self.stop()
            raise TimeoutError(texts)
        return Done(code, *texts)

    def stop(self):
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._ours.close()
            self._process = None


def qdpg(*words, cwd=None):
    """Run the command line to its end."""
    return Started(*words, cwd=cwd).wait()


def _serve(theirs):
    home = os.getcwd()
    while True:
        try:
            words, cwd, said = theirs.recv()
        except EOFError:
            os._exit(0)
        try:
            code = _run(words, cwd, said)
        except Exception:  # as Python would end
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os.chdir(home)
        theirs.send(code)


def _main(words, cwd, said):
    code = _run(words, cwd, said)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # daemon threads end with it, as they do in a process that was not forked


def _run(words, cwd, said):
    for number, path in enumerate(said, start=1):
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(handle, number)
        os.close(handle)
    if cwd is not None:
        os.chdir(cwd)
    sys.argv = ["qdpg", *words]
    from qdpg.cli.start import main

    try:
        main()
    except SystemExit as ended:
        return ended.code
    return 0
