"""Matrices on real clusters of three nodes: a node dies, the driver dies, somebody presses Ctrl-C.

Whatever happens, the directory ends as a local comparison would have left it, bit for bit.
"""

import os
import signal
import socket
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from test_compare import CHEAP, LONG, assert_same_run, begin_and_let_advance, words

from clusters import add_foreign_node, add_node, cluster, kill_node
from processes import Started
from qdpg import compare
from qdpg.cluster.engine import RayEngine
from qdpg.errors import UserError

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]
MATRIX = LONG | {"seeds": 2, "steps": 80_000}  # four runs of 500 generations


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The same matrix in processes of this machine, never stopped."""
    out = tmp_path_factory.mktemp("local")
    outcome = compare(out / "out", **MATRIX, quiet=True)
    assert len(outcome.finished) == 4
    return out / "out"


@pytest.fixture
def three_nodes():
    with cluster(1, 1, 1) as made:
        yield made


def on_cluster(out, made, **options):
    return [*words(out, MATRIX, checkpoint_seconds=0, **options), "--engine", "ray", "--address", made.address]


def assert_as_local(out, local):
    for path in sorted(local.glob("*/*/seed-*")):
        if path.is_dir():
            assert_same_run(path, out / path.relative_to(local))
    assert not (out / "failures.json").exists()


def processes_of_runs(directory):
    """Processes that train a run on a node, and the directories that they do it in."""
    running = [p for p in psutil.process_iter(["cmdline"]) if "qdpg.matrix.follow" in (p.info["cmdline"] or ())]
    there = [p for p in running if any(word.startswith(f"{directory}/qdpg-run-") for word in p.info["cmdline"])]
    return [p for p in there if p.status() != psutil.STATUS_ZOMBIE], list(directory.glob("qdpg-run-*"))


def wait_until(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        left = processes_of_runs(Path(tempfile.gettempdir()))
        assert time.monotonic() < until, [(p.status(), p.cmdline(), p.ppid()) for p in left[0]] + left[1]
        time.sleep(0.2)


def test_a_node_is_killed_in_the_middle(tmp_path, local, three_nodes):
    out = tmp_path / "out"
    process = begin_and_let_advance(on_cluster(out, three_nodes), out / "point-maze" / "map-elites" / "seed-0", 5)
    victim = next(iter(three_nodes.worker_nodes))
    kill_node(victim)
    done = process.wait(280)
    assert done.returncode == 0, done
    assert f"started point-maze map-elites seed 0 on {socket.gethostname()}\n" in done.stdout
    assert "it goes on elsewhere" in done.stdout
    assert "done: 4 of 4 runs finished" in done.stdout
    assert_as_local(out, local)
    again = compare(out, quiet=True)  # a later local one takes it as it is
    assert len(again.finished) == 4
    assert processes_of_runs(Path(tempfile.gettempdir()))[0] == []


def test_the_driver_is_killed_and_ctrl_c(tmp_path, local, three_nodes):
    out = tmp_path / "out"
    run = out / "point-maze" / "map-elites" / "seed-0"
    process = begin_and_let_advance(on_cluster(out, three_nodes), run, 3)
    wait_until(lambda: len(processes_of_runs(Path(tempfile.gettempdir()))[0]) == 3)
    process.kill()
    # Gone within a minute, with their directories.
    wait_until(lambda: processes_of_runs(Path(tempfile.gettempdir())) == ([], []))

    process = begin_and_let_advance(on_cluster(out, three_nodes), run, 3)
    process.send_signal(signal.SIGINT)
    done = process.wait(120)
    assert done.returncode == 130, done
    assert "stopped point-maze" in done.stdout
    assert f"go on with: qdpg compare --out {out}" in done.stdout
    assert processes_of_runs(Path(tempfile.gettempdir())) == ([], [])  # and nothing is left behind

    done = Started(*on_cluster(out, three_nodes)).wait(280)
    assert done.returncode == 0, done
    assert_as_local(out, local)


def test_nodes_that_join_get_runs(tmp_path):
    out = tmp_path / "out"
    with cluster(1) as made:
        process = begin_and_let_advance(
            on_cluster(out, made, steps=10_000_000), out / "point-maze" / "cvt-map-elites" / "seed-0", 1
        )
        add_node(made, 3)
        wait_until(lambda: len(processes_of_runs(Path(tempfile.gettempdir()))[0]) == 4, 200)
        process.send_signal(signal.SIGTERM)
        done = process.wait(120)
    assert done.returncode == 143, done
    assert "1 at once" in done.stdout
    assert processes_of_runs(Path(tempfile.gettempdir())) == ([], [])


def test_a_node_without_our_code_is_refused(tmp_path):
    (tmp_path / "qdpg").mkdir()
    (tmp_path / "qdpg" / "__init__.py").touch()
    with cluster(1) as made:
        add_foreign_node(made, 1, tmp_path)
        with pytest.raises(UserError, match=r"^node \S+ cannot load this version of qdpg"):
            compare(tmp_path / "out", **CHEAP, seeds=2, engine=RayEngine(made.address), quiet=True)
    assert processes_of_runs(Path(tempfile.gettempdir())) == ([], [])


def test_failures_own_tasks_and_what_cannot_be_run(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from qdpg.tasks.point_maze import PointMaze\n"
        "class Broken(PointMaze):\n"
        "    def step(self, state, action):\n"
        "        raise ValueError('the motor is not plugged in')\n"
        "class Whole(PointMaze):\n"
        "    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    with cluster(2) as made:
        engine = RayEngine(made.address)
        with pytest.raises(UserError, match="no node of the cluster has 9 cores"):
            compare("out", **CHEAP, seeds=1, threads=9, engine=engine, quiet=True)
        assert not os.path.exists("out")
        add_node(made, 1)
        tasks = ["mine:Broken", "mine:Whole"]
        outcome = compare("out", **(CHEAP | {"tasks": tasks}), seeds=1, engine=engine, quiet=True)
        (failure,) = outcome.failures
        assert failure.error == "ValueError: the motor is not plugged in"
        assert failure.exit_code == 1
        assert failure.error in Path("out", failure.log).read_text()
        assert outcome.finished == [Path("out/mine-Whole/map-elites/seed-0")]
