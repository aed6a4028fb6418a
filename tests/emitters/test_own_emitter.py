"""The example of a user's own emitter, examples/own_emitter.py."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from small_emitters import make_elites

from qdpg.learn.networks import flatten_population

PATH = Path(__file__).parents[2] / "examples" / "own_emitter.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("own_emitter", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_runs_and_fills_the_archive(example, capsys):
    elites = example.main(generations=4)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 4
    assert said[-1].split()[0] == str(4 * 40 * 200)
    assert len(elites) > int(said[0].split()[2])
    assert elites.data()["generation"].max() > 0  # some are offspring


def test_every_layer_of_its_offspring_comes_from_one_of_two_elites(example):
    elites = make_elites()
    offspring = example.LayerCrossover(30).select(elites, np.random.default_rng(0))
    held = elites.policies(np.arange(len(elites)))
    mixed = 0
    for n, parent in enumerate(offspring.parents):
        sources = []
        for layer in range(3):
            same = (held.weights[layer] == offspring.policies.weights[layer][n]).all(axis=(1, 2))
            np.testing.assert_array_equal(held.biases[layer][same][0], offspring.policies.biases[layer][n])
            sources.append(same.argmax())
            assert same.sum() == 1
        assert len(set(sources)) <= 2
        mixed += len(set(sources) | {parent}) == 2
    assert mixed > 5
    assert len(np.unique(flatten_population(offspring.policies), axis=0)) > 20


def test_the_emitter_is_short(example):
    lines = PATH.read_text().splitlines()
    first = lines.index("class LayerCrossover(Emitter):")
    last = lines.index("def main(generations=20):")
    assert sum(bool(line.strip()) for line in lines[first:last]) <= 22
