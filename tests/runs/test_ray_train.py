"""Training with episodes on a real cluster: processes, a node and the driver are killed, and nothing shows."""

import os
import signal
import time

import numpy as np
import psutil
import pytest
from safetensors.numpy import load_file
from small_runs import Silent

from clusters import cluster, kill_node
from processes import Started, qdpg
from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.cluster.connect import connected
from qdpg.cluster.engine import RayEngine
from qdpg.evaluation.evaluate import evaluate
from qdpg.play.player import open_player
from qdpg.runs.logs import read_csv
from qdpg.runs.run import RunConfig, create_run, load_run
from qdpg.runs.train import Trainer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]
SETTINGS = {
    "map-elites": {"population": 8, "hidden": (8, 8)},
    "me-es": {"pairs": 30, "chunk": 10, "evaluations": 3, "hidden": (8, 8), "normalise": True, "action_noise": 0.1},
}


def make_run(path, algorithm):
    config = config_to_json(make_config(algorithm, "tuned", "point-maze", SETTINGS[algorithm]))
    return create_run(path, RunConfig("point-maze", {"horizon": 30}, algorithm, "tuned", config, 991, 20_000))


def players():
    """The processes that play."""
    return [p for p in psutil.process_iter(["name", "cmdline"]) if "ray::_Worker" in " ".join(p.info["cmdline"] or ())]


def assert_same(a, b):
    for name in ("metrics", "episodes", "evaluations"):
        first, second = (read_csv(path / f"{name}.csv") for path in (a, b))
        assert first.keys() == second.keys()
        for column in first:
            if not column.endswith("seconds"):
                np.testing.assert_array_equal(first[column], second[column], err_msg=f"{name}.{column}")
    first, second = (load_file(path / "elites" / "elites.safetensors") for path in (a, b))
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def assert_gone(processes, seconds):
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    assert not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_a_process_dies_every_few_generations_and_then_a_node(tmp_path, algorithm):
    Trainer(make_run(tmp_path / "local", algorithm), Silent(), 1e9).train()
    evaluate(tmp_path / "local", episodes=6)
    killed, generations = [], [0]
    with cluster(1, 1, 1) as made, connected(RayEngine(made.address)):
        nodes = list(made.worker_nodes)

        def disturb():
            generations[0] += 1
            if generations[0] % 7 == 3 and len(killed) < 4 and (found := players()):
                found[0].kill()
                killed.append(found[0].pid)
            if generations[0] == 20:
                kill_node(nodes[0])
            return False

        run = make_run(tmp_path / "ray", algorithm)
        with open_player(run.task, RayEngine(made.address)) as player:
            Trainer(run, Silent(), 1e9, player=player).train(disturb)
            evaluate(run.path, episodes=6, player=player)
    assert len(killed) >= 3
    assert generations[0] > 20
    assert_same(tmp_path / "local", tmp_path / "ray")
    for name in ("evaluated.csv", "evaluated-episodes.csv"):
        assert (tmp_path / "local/elites" / name).read_bytes() == (tmp_path / "ray/elites" / name).read_bytes()


def test_the_driver_is_killed_and_its_ray_is_gone_within_a_minute(tmp_path):
    """With a Ray of its own, which is to leave nothing behind."""
    settings = ["population=8", "hidden=8,8", "task.horizon=30"]
    words = ["train", "point-maze", "--algorithm", "map-elites", "--steps", "60000", "--seed", "991"]
    words += ["--checkpoint-seconds", "0", "--evaluate-seconds", "0"]
    assert qdpg(*words, "--out", tmp_path / "local", "--set", *settings).returncode == 0

    process = Started(*words, "--out", tmp_path / "ray", "--engine", "ray", "--set", *settings)
    while not list((tmp_path / "ray" / "checkpoints").glob("[0-9]*")):
        assert process.poll() is None, process.said()
        time.sleep(0.1)
    family = psutil.Process(process.pid).children(recursive=True)
    playing = [each for each in family if "ray::_Worker" in " ".join(each.cmdline())]
    assert playing
    process.kill()
    assert_gone(playing, 60)
    assert_gone(family, 240)  # Ray's own agents try to reach the dead for a minute

    process = Started(
        "resume", tmp_path / "ray", "--engine", "ray", "--checkpoint-seconds", "0", "--evaluate-seconds", "0"
    )
    before = len(load_run(tmp_path / "ray").metrics()["steps"])
    while len(load_run(tmp_path / "ray").metrics()["steps"]) < before + 5:
        assert process.poll() is None, process.said()
        time.sleep(0.1)
    family = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGINT)
    done = process.wait(120)
    assert done.returncode == 130, done
    assert "continue with: qdpg resume" in done.stdout
    assert_gone(family, 60)

    done = qdpg("resume", tmp_path / "ray", "--engine", "ray", "--evaluate-seconds", "0")
    assert done.returncode == 0, done
    assert done.stderr == ""
    assert_same(tmp_path / "local", tmp_path / "ray")
