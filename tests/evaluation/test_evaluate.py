"""Playing every elite from fresh starts."""

import csv
import json
import shutil

import jax
import numpy as np
import pytest

import qdpg
from qdpg import load_run
from qdpg.algorithms.registry import config_to_json, make_config
from qdpg.errors import UserError
from qdpg.evaluation import evaluate as module
from qdpg.evaluation.evaluate import EPISODES, ROUND, play_order
from qdpg.play.player import make_player
from qdpg.play.starts import fresh_starts
from qdpg.runs.evaluated import EVALUATED, EVALUATED_ABOUT
from qdpg.runs.files import lock_directory
from qdpg.runs.run import RunConfig, create_run
from qdpg.runs.train import Trainer
from unsealed import unseal_elites


class Silent:
    def update(self, row):
        pass

    def say(self, sentence):
        pass


def train(path, **changes):
    settings = {"population": 10, "initial_policies": 20, "hidden": (8,), **changes}
    config = config_to_json(make_config("map-elites", "tuned", "point-maze", settings))
    run = create_run(path, RunConfig("point-maze", {"horizon": 30}, "map-elites", "tuned", config, seed=1, steps=1500))
    Trainer(run, Silent()).train()
    return load_run(path)


@pytest.fixture(scope="module", params=[{}, {"archive.reevaluations": 0.5}], ids=["plain", "re-evaluated"])
def trained(tmp_path_factory, request):
    """Trained once."""
    return train(tmp_path_factory.mktemp("trained") / "run", **request.param)


@pytest.fixture
def run(trained, tmp_path):
    """A copy for each test."""
    return copy(trained, tmp_path / "run")


def copy(run, path):
    shutil.copytree(run.path, path)
    return load_run(path)


def files(run):
    return {name: (run.path / "elites" / name).read_bytes() for name in (EPISODES, EVALUATED, EVALUATED_ABOUT)}


def test_what_is_found_is_what_playing_gives(run):
    found = qdpg.evaluate(run.path, episodes=7, seed=3)
    elites = run.elites
    seeds = fresh_starts("choose", 7, 3)
    population = jax.tree.map(lambda leaf: np.repeat(leaf, 7, axis=0), elites.population())
    played = make_player(run.task).play(population, np.tile(seeds, len(elites)), record=False)
    fitness, places = played.fitness.reshape(-1, 7), played.behaviours.reshape(len(elites), 7, 2)
    table = found.elites.evaluated
    np.testing.assert_array_equal(table["mean"], fitness.mean(axis=1))
    np.testing.assert_array_equal(table["upper_quartile"], np.quantile(fitness, 0.75, axis=1))
    np.testing.assert_allclose(table["mean_y"], places[:, :, 1].mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(table["spread_x"], places[:, :, 0].std(axis=1), rtol=1e-5, atol=1e-9)
    cells = np.asarray(elites.archive().index_of(played.behaviours)).reshape(-1, 7)
    own = (cells == elites.cells_index[:, None]).mean(axis=1)
    np.testing.assert_array_equal(table["share_own_cell"], own)
    assert found.summary["share_own_cell"] == own.mean()
    assert found.summary["complete"]
    corrected = elites.archive().index_of(places.mean(axis=1, dtype=np.float64).astype(np.float32))
    best = {cell: fitness.mean(axis=1)[corrected == cell].max() for cell in set(corrected.tolist())}
    assert found.summary["corrected"]["cells"] == len(best)
    assert found.summary["corrected"]["best"] == max(best.values())
    floor = run.task.spec.fitness_floor
    assert found.summary["corrected"]["qd_score"] == pytest.approx(sum(best.values()) - floor * len(best))
    assert len(found.elites.archive(corrected=True)) == len(best)


def test_the_best_is_judged_by_starts_that_it_was_not_chosen_by(run):
    found = qdpg.evaluate(run, episodes=6)
    row = int(found.elites.evaluated["mean"].argmax())
    population = jax.tree.map(lambda leaf: np.repeat(leaf[row : row + 1], 6, axis=0), run.elites.population())
    fitness = make_player(run.task).play(population, fresh_starts("report", 6, 0), record=False).fitness
    best = found.summary["best"]
    assert best["mean"] == fitness.mean()
    assert best["mean_when_chosen"] == found.elites.evaluated["mean"][row]
    assert best["stored_fitness"] == run.elites.fitness[row]
    assert found.elites.best().evaluated_fitness == best["mean_when_chosen"]


def test_a_stopped_evaluation_goes_on_and_ends_with_the_same_files(trained, tmp_path, monkeypatch):
    whole, parts = copy(trained, tmp_path / "whole"), copy(trained, tmp_path / "parts")
    qdpg.evaluate(whole, episodes=8)
    monkeypatch.setattr(module, "BATCH_STEPS", 30 * 7)  # seven episodes at a time
    seen = []
    for calls in range(1, 200):
        left = [calls % 3 + 1]

        def stop(left=left):
            left[0] -= 1
            return left[0] < 0

        found = qdpg.evaluate(parts, episodes=8, stop=stop, progress=lambda done, of: seen.append(done))
        log = parts.path / "elites" / EPISODES
        if found.summary.get("complete", False):
            break
        with log.open("ab") as file:
            file.write(b"12,34")  # a line that a killed process was writing
    assert calls > 2
    assert seen == sorted(seen)
    assert files(whole) == files(parts)


def test_a_partial_evaluation_counts_only_what_all_elites_have_played(run, monkeypatch):
    monkeypatch.setattr(module, "BATCH_STEPS", 30 * len(run.elites) * ROUND)
    left = [1]

    def stop():
        left[0] -= 1
        return left[0] < 0

    found = qdpg.evaluate(run, episodes=ROUND + 3, stop=stop)
    assert found.summary["episodes"] == ROUND
    assert not found.summary["complete"]
    assert found.summary["best"] is None
    assert (found.elites.evaluated["episodes"] == ROUND).all()


def test_without_time_nothing_is_played(run):
    found = qdpg.evaluate(run, seconds=0.0)
    assert found.summary["episodes"] == 0
    assert found.elites.evaluated is None
    assert np.isnan(found.elites.best().evaluated_fitness)


def test_an_evaluation_belongs_to_the_elites_it_was_made_of(run):
    qdpg.evaluate(run, episodes=2)
    assert load_run(run.path).elites.evaluated is not None
    path = run.path / "elites" / "elites.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(UserError, match=r"elites\.safetensors is not what the run wrote"):
        _ = load_run(run.path).elites
    unseal_elites(run.path)
    assert load_run(run.path).elites.evaluated is None
    again = qdpg.evaluate(run.path, episodes=2)
    assert again.summary["complete"]


def test_other_starts_begin_anew(run):
    first = qdpg.evaluate(run, episodes=3, seed=0)
    other = qdpg.evaluate(run, episodes=3, seed=1)
    assert not np.array_equal(first.elites.evaluated["mean"], other.elites.evaluated["mean"])


def test_tables_can_be_read_without_qdpg(run):
    qdpg.evaluate(run, episodes=3)
    directory = run.path / "elites"
    with (directory / EVALUATED).open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (directory / EPISODES).open(newline="") as file:
        episodes = list(csv.DictReader(file))
    assert len(rows) == len(run.elites)
    assert len(episodes) == 3 * len(rows)
    for row in rows:
        own = [float(each["fitness"]) for each in episodes if each["cell"] == row["cell"]]
        assert float(row["mean"]) == pytest.approx(np.mean(own), rel=1e-12)
    assert json.loads((directory / EVALUATED_ABOUT).read_text())["elites"] == len(rows)


@pytest.mark.parametrize(
    ("arguments", "words"), [({"episodes": 0}, "must be at least 1"), ({"seed": -1}, "must be at least 0")]
)
def test_bad_arguments_are_refused(run, arguments, words):
    with pytest.raises(UserError, match=words):
        qdpg.evaluate(run, **arguments)
    assert not (run.path / "elites" / EVALUATED_ABOUT).exists()


def test_two_at_once_are_refused(run):
    with lock_directory(run.path / "elites", ""), pytest.raises(UserError, match="another process is evaluating"):
        qdpg.evaluate(run, episodes=1)


def test_the_order_of_episodes():
    order = play_order(3, ROUND + 2)
    assert len({tuple(pair) for pair in order.tolist()}) == 3 * (ROUND + 2)
    assert order[:ROUND].tolist() == [[0, n] for n in range(ROUND)]
    assert set(order[: 3 * ROUND, 1].tolist()) == set(range(ROUND))
