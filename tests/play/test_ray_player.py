"""Playing on a real cluster of two nodes: the same bits as in this process, whoever plays and whoever dies."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
import pytest

import qdpg
from clusters import add_foreign_node, cluster, kill_node
from qdpg.cluster.connect import connected
from qdpg.cluster.engine import RayEngine, find_engine
from qdpg.cluster.nodes import refusal, remark, this_node
from qdpg.errors import DivergedError, UserError
from qdpg.learn.es import Perturbations, Source
from qdpg.learn.networks import init_population, join_policies, take_policies
from qdpg.learn.normaliser import no_stats
from qdpg.play.acting import Noise, RollIn
from qdpg.play.judging import Chosen, join_outcomes, judge
from qdpg.play.player import make_player
from qdpg.play.ray_player import RayPlayer
from qdpg.tasks.point_maze import PointMaze


@dataclass(frozen=True)
class Fragile(PointMaze):
    """A task in a file of the user's own, which travels with its code; some episodes come to harm."""

    horizon: int = 20
    nan_seed: int = -1

    def step(self, state, action):
        state, reward, ended = super().step(state, action)
        return state, reward * (float("nan") if self.nan_seed >= 0 else 1.0), ended


TASK = Fragile()


@pytest.fixture(scope="module")
def ray():
    with cluster(2, 1) as made, connected(RayEngine(made.address)) as module:
        yield module


@pytest.fixture(scope="module")
def player(ray):
    made = RayPlayer(ray, TASK, workers=2)  # a core is left for others
    yield made
    made.close()


def population(number, seed=0):
    return init_population(jax.random.key(seed), number, (TASK.spec.observation_size, 8, 8, TASK.spec.action_size))


def assert_same(a, b):
    for name, value in vars(a).items():
        other = getattr(b, name)
        assert value.dtype == other.dtype, name
        np.testing.assert_array_equal(value, other, err_msg=name)


def test_the_same_rollouts_as_in_this_process(player):
    policies, seeds = population(7), np.arange(7) + 40
    noise = Noise(np.array([0, 0.1, 0, 0.2, 0.3, 0, 0.1], np.float32), 0.5)
    assert_same(
        make_player(TASK).play(policies, seeds, noise=noise), player.play(policies, seeds, noise=noise)
    )  # shares of four and three


def test_guides_go_with_their_episodes(player):
    guided = np.array([0, 5, 0, 9, 3])
    guides = np.arange(5)
    guides[guided > 0] = 5 + np.arange(3)
    everybody = join_policies(population(5), population(3, seed=1))
    roll_in = RollIn(guides, guided, np.where(guided, guided + 6, 0))
    local = make_player(TASK).play(everybody, np.arange(5), roll_in=roll_in)
    assert_same(local, player.play(everybody, np.arange(5), roll_in=roll_in))
    assert set(local.lengths) == {11, 15, 9, 20}


def test_perturbations_are_made_where_they_are_played(player):
    observed = no_stats(TASK.spec.observation_size).add(np.random.default_rng(0).normal(size=(9, 2)))
    rule = Perturbations(take_policies(population(1), slice(None)), 0.1, Source(3, 7), observed)
    seeds = np.repeat(np.arange(50), 2)
    parts = list(judge(player, rule, seeds, noise=Noise(0.1), chunk=18))
    assert len(parts) == 7  # 16 of 100 at once: no more than what one process plays for about the price of one
    local = join_outcomes(list(judge(make_player(TASK), rule, seeds, noise=Noise(0.1), chunk=26)))
    for a, b in zip(local, join_outcomes(parts), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(np.unique(local.fitness)) > 90


def test_whoever_dies_is_replaced(ray, player):
    policies, seeds = population(60), np.arange(60)
    local = make_player(TASK).play(policies, seeds)
    before = list(player.pool._idle)
    assert len(before) == 2
    ray.kill(before[0])
    assert_same(local, player.play(policies, seeds))
    while len(player.pool._idle) < 2:  # until the new one has introduced itself
        time.sleep(0.5)
        assert_same(local, player.play(policies, seeds))
    assert before[0] not in player.pool._idle


def test_the_rest_is_not_waited_for(player):
    """Whoever has heard enough stops listening; the next ones to be played do not suffer."""
    rule = Chosen(population(60), np.arange(60))
    first = next(judge(player, rule, np.arange(60), chunk=5))
    assert len(first.fitness) == 5
    local = make_player(TASK).play(population(3), np.arange(3))
    assert_same(local, player.play(population(3), np.arange(3)))


@pytest.mark.slow
def test_a_sentence_comes_back_as_it_was(ray):
    lost = RayPlayer(ray, Fragile(nan_seed=0), workers=1)
    with pytest.raises(DivergedError, match=r"^a reward of .* is not finite \(episode with reset seed 5\)$"):
        lost.play(population(2), np.array([5, 6]))
    lost.close()


def play_with_a_foreign_node(tmp_path):
    """Play with two processes on a cluster of two nodes, one of which finds its modules in `tmp_path`."""
    with cluster(1) as made, connected(RayEngine(made.address)) as module:
        add_foreign_node(made, 1, tmp_path)
        mixed = RayPlayer(module, TASK, workers=2)
        while True:  # until both have introduced themselves
            mixed.play(population(2), np.arange(2))


@pytest.mark.slow
def test_a_node_with_another_version_is_refused(tmp_path):
    shutil.copytree(Path(qdpg.__file__).parent, tmp_path / "qdpg", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "qdpg" / "version.py").write_text('__version__ = "0.0.1"\n')
    with pytest.raises(UserError, match=rf"^node \S+ has qdpg 0.0.1 instead of {qdpg.__version__}; install the same"):
        play_with_a_foreign_node(tmp_path)


@pytest.mark.slow
def test_a_node_without_our_code_is_refused(tmp_path):
    """Or with so old a one that it does not get so far as to say its version."""
    (tmp_path / "qdpg").mkdir()
    (tmp_path / "qdpg" / "__init__.py").touch()
    with pytest.raises(
        UserError, match=r"^node \S+ cannot load this version of qdpg \(ModuleNotFoundError: .*\); inst"
    ):
        play_with_a_foreign_node(tmp_path)


@pytest.mark.slow
def test_a_node_dies_with_results_that_nobody_has_fetched_and_with_processes_that_wait(monkeypatch):
    task = Fragile(horizon=6000)  # so long that what was recorded stays with the node until it is fetched
    with cluster(1, 4) as made, connected(RayEngine(made.address)) as module:
        far = made.worker_nodes.copy().pop()
        playing = RayPlayer(module, task)
        while len(playing.pool._idle) < 5:
            playing.play(population(5), np.arange(5))
        where = [actor.__ray_call__.remote(lambda self: node_id()) for actor in playing.pool._idle]
        is_far = [found != node_id() for found in module.get(where)]
        assert sum(is_far) == 4
        here = playing.pool._idle.pop(is_far.index(False))
        playing.pool._idle.insert(0, here)  # the last one to be given work
        wait, killed = module.wait, []

        def kill_when_done(references, **options):
            if not killed:
                assert len(references) == 2
                wait(references, num_returns=2, fetch_local=False)
                kill_node(far)
                killed.append(far)
            return wait(references, **options)

        monkeypatch.setattr(module, "wait", kill_when_done)
        assert_same(make_player(task).play(population(2), np.arange(2)), playing.play(population(2), np.arange(2)))
        playing.close()
    assert killed


def node_id():
    import ray

    return ray.get_runtime_context().get_node_id()


def test_what_is_said_about_nodes():
    ours = this_node()
    assert refusal(ours, ours) is None
    assert remark(ours, ours) is None
    other = ours._replace(name="far", processor={"cpu": "i486", "instruction_sets": ""})
    assert refusal(other, ours) is None
    assert "node far has another processor (i486, not" in remark(other, ours)
    older = ours._replace(name="old", versions=ours.versions | {"jax": "0.1.2"})
    assert refusal(older, ours).startswith(f"node old has jax 0.1.2 instead of {jax.__version__}; install the same")


@pytest.mark.parametrize(
    ("engine", "address", "sentence"),
    [
        ("rya", None, "there is no engine 'rya'"),
        ("local", "auto", "needs --engine ray"),
        ("ray", "ray://x:1", "client"),
        ("ray", "head", "HOST:PORT or auto"),
        ("ray", "local", "HOST:PORT or auto"),
    ],
)
def test_what_makes_no_sense(engine, address, sentence):
    with pytest.raises(UserError, match=sentence):
        find_engine(engine, address)
    with pytest.raises(UserError, match="at least 1"):
        RayEngine(workers=0)
