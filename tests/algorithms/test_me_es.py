"""ME-ES: blocks, where they start, and whether it searches."""

import numpy as np
import pytest
from strategies import evolve, learn, make_strategy, score_of_best

from qdpg.algorithms.me_es import Config, mode_of
from qdpg.errors import UserError
from qdpg.tasks.point_maze import PointMaze


def test_block_pattern():
    """Ten steps to exploit come first, then ten to explore, and so on; generation 0 only evaluates."""
    modes = [mode_of(generation, Config()) for generation in range(1, 41)]
    assert modes == ["exploit"] * 10 + ["explore"] * 10 + ["exploit"] * 10 + ["explore"] * 10
    assert {mode_of(generation, Config(mode="explore")) for generation in range(1, 41)} == {"explore"}
    assert {mode_of(generation, Config(mode="exploit")) for generation in range(1, 41)} == {"exploit"}


def test_the_pattern_is_what_happens():
    algorithm = make_strategy("me-es", block=3)
    evolve(algorithm)
    steps, optimisers = [], []
    for _ in range(9):
        generation, told = evolve(algorithm)
        steps.append(told["exploits"])
        optimisers.append(int(generation.learned.optimiser.count))
    assert steps == [1.0] * 3 + [0.0] * 3 + [1.0] * 3
    assert optimisers == [1, 2, 3] * 3  # a new Adam for each block


def test_a_block_goes_on_from_its_own_policy_and_a_new_one_from_an_elite():
    algorithm = make_strategy("me-es", block=2)
    evolve(algorithm)
    for generation in range(1, 7):
        start = algorithm._start(np.random.default_rng(generation))
        held = (algorithm.elites.data()["solution"] == start.policy).all(axis=1).any()
        assert held if generation % 2 else (start.policy == algorithm._state.policies[0]).all()
        evolve(algorithm)


@pytest.fixture
def filled():
    """A strategy whose grid has elites in six cells of known fitness and behaviour."""
    algorithm = make_strategy("me-es", parents=6, evaluations=1)
    generation = algorithm.ask()
    rollouts = generation.play(algorithm.player)
    rollouts.behaviours[:] = [[-0.9, -0.9], [-0.9, -0.4], [-0.9, 0.0], [-0.9, 0.4], [-0.9, 0.8], [0.9, 0.9]]
    rollouts.fitness[:] = [-50, -10, -40, -30, -20, -60]
    algorithm.tell(generation, rollouts)
    return algorithm


def test_starts_to_exploit(filled):
    """The best half of the time; else one of the two best of the five cells discovered last."""
    data = filled.elites.data()
    drawn = [data["objective"][filled._choose_good(data, np.random.default_rng(i))] for i in range(1000)]
    shares = {fitness: drawn.count(fitness) / 1000 for fitness in set(drawn)}
    assert set(shares) <= {-10.0, -20.0, -30.0}
    recent = [f for f in (-10, -20, -30) if f in data["objective"][np.isin(data["index"], filled._state.own)]][:2]
    assert shares[-10.0] == pytest.approx(0.5 + (0.25 if -10 in recent else 0.0), abs=0.05)
    few = {name: array[:4] for name, array in data.items()}
    best = int(few["objective"].argmax())
    assert {filled._choose_good(few, np.random.default_rng(i)) for i in range(50)} == {best}  # fewer than five cells


def test_starts_to_explore(filled):
    """One of the five most novel cells; the lonely one most often, each with at least a fiftieth."""
    data = filled.elites.data()
    drawn = [filled._choose_novel(data, np.random.default_rng(i)) for i in range(1500)]
    shares = np.bincount(drawn, minlength=6) / 1500
    novelty = filled.visited.novelty(data["measures"], "squared", held=True).astype(float)
    assert (shares > 0).sum() == 5
    assert shares[novelty.argmin()] == 0
    most = np.argsort(-novelty)[:5]
    expected = 0.02 + 0.9 * novelty[most] / novelty[most].sum()
    np.testing.assert_allclose(shares[most], expected, atol=0.04)
    assert data["measures"][shares.argmax()].tolist() == pytest.approx([0.9, 0.9])


def test_an_empty_block_is_refused():
    with pytest.raises(UserError, match="block"):
        make_strategy("me-es", block=0)


def test_exploring_fills_the_grid():
    algorithm, filled = learn("me-es", PointMaze(horizon=60), mode="explore", evaluations=1)
    _, downhill = learn("me-es", PointMaze(horizon=60), mode="explore", evaluations=1, downhill=True)
    assert filled[0] <= 4
    assert filled[-1] >= max(8, downhill[-1] + 3), (filled[-1], downhill[-1])
    assert (np.diff(filled) >= 0).all()
    assert algorithm.generation == len(filled)


@pytest.mark.long
def test_exploiting_learns_an_open_way():
    """A straight way of seven steps costs about -2.5, standing still about -37."""
    task = PointMaze(goal=(-0.6, -0.7), horizon=60)
    algorithm, _ = learn("me-es", task, mode="exploit")
    assert score_of_best(algorithm) > -8
