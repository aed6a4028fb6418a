import jax
import numpy as np
import pytest
from made_up import collection

from qdpg.adaptation.goals import draw_goals, known_ways, movable, move_goal, play_elites, scores
from qdpg.errors import UserError
from qdpg.learn.networks import init_population
from qdpg.play.acting import NO_NOISE
from qdpg.play.player import make_player
from qdpg.runs.collection import Collection
from qdpg.tasks.ant_maze import AntMaze
from qdpg.tasks.ant_trap import AntTrap
from qdpg.tasks.point_maze import PointMaze
from qdpg.tasks.registry import make_task

POINT = PointMaze()


@pytest.mark.parametrize("starts", ["fresh", "own"])
def test_judging_a_way_is_playing_with_the_goal_moved(starts):
    elites = collection(np.zeros((300, 2)), seed=3)
    elites.arrays["noise"][::2] = 0.3  # half of them were stored with noise
    played = play_elites(POINT, elites, starts, seed=5)
    assert not played.terminated.any()
    ended = 0
    for goal in np.array([[0.1, -0.7], [-0.7, 0.3]]):
        noise = elites.noise if starts == "own" else NO_NOISE
        real = make_player(move_goal(POINT, goal)).play(elites.population(), played.seeds, noise=noise, record=False)
        same_way = (real.descriptors == played.descriptors).all(axis=2)
        assert same_way[np.arange(201) <= real.lengths[:, None]].all()
        # One more or one less step would change a score by a thousandth at least; compiled sums round otherwise.
        np.testing.assert_allclose(scores(POINT, played, goal), real.fitness, rtol=1e-6)
        ended += real.terminated.sum()
    assert ended > 20, "many of them really reached a goal"


def test_own_starts_are_those_the_elites_were_stored_for_and_fresh_ones_are_not():
    elites = collection(np.zeros((40, 2)))
    own, fresh, again, other = (
        play_elites(POINT, elites, starts, seed)
        for starts, seed in (("own", 0), ("fresh", 0), ("fresh", 0), ("fresh", 1))
    )
    np.testing.assert_array_equal(own.seeds, elites.seeds)
    np.testing.assert_array_equal(fresh.descriptors, again.descriptors)
    for one, two in ((own, fresh), (fresh, other)):
        assert (one.descriptors[:, 0] != two.descriptors[:, 0]).any(axis=1).all()


def test_known_ways_are_means_of_what_was_visited():
    elites = collection(np.zeros((5, 2)), seed=3)
    alone = [play_elites(POINT, elites, "own", 0).descriptors[i, 1:].mean(axis=0) for i in range(5)]
    np.testing.assert_allclose(known_ways(POINT, elites), alone, rtol=1e-5)


def test_ants_are_judged_as_they_are_played():
    task = AntMaze(horizon=40, reward_scale=0.05)
    population = init_population(jax.random.key(0), 4, (29, 8, 8))
    arrays = {f"weight_{i}": np.asarray(weight) for i, weight in enumerate(population.weights)}
    arrays |= {f"bias_{i}": np.asarray(bias) for i, bias in enumerate(population.biases)}
    arrays |= {name: np.zeros(4) for name in ("fitness", "index")} | {"behaviour": np.zeros((4, 2))}
    arrays |= {"seed": np.arange(4), "noise": np.zeros(4, np.float32)}
    about = {"noise_correlation": 0.0, "policy": {"sizes": [29, 8, 8], "hidden": "relu", "output": "tanh"}}
    elites = Collection(task.spec, about, arrays)
    played = play_elites(task, elites, "fresh", seed=2)
    for goal in np.array([[-24.5, -25.0], [0.0, 30.0]]):
        real = make_player(move_goal(task, goal)).play(elites.population(), played.seeds, record=False)
        # Places are recorded with 24 bits, and the ants' own have 53.
        np.testing.assert_allclose(scores(task, played, goal), real.fitness, rtol=1e-5)


@pytest.mark.parametrize("task", [POINT, AntMaze()])
def test_goals_are_drawn_all_over_the_floor_where_the_agent_can_stand(task):
    goals, floor = draw_goals(task, 2000, np.random.default_rng(1)), task.spec.floor
    low, high = np.array(floor.low), np.array(floor.high)
    assert ((low <= goals) & (goals <= high)).all()
    for wall in floor.walls:
        gap = np.abs(goals - [wall.x, wall.y]) - [wall.half_x, wall.half_y]
        assert (gap > task.clearance).any(axis=1).all()
    squares = np.unique((5 * (goals - low) / (high - low)).astype(int), axis=0)
    assert len(squares) == 25
    np.testing.assert_array_equal(goals[:3], draw_goals(task, 3, np.random.default_rng(1)))


@pytest.mark.parametrize(
    "task", [AntTrap(), make_task("gym:Pendulum-v1", descriptor=(0, 1), low=(-1, -1), high=(1, 1))]
)
def test_a_task_without_a_goal_is_one_clear_sentence(task):
    with pytest.raises(UserError, match=r"has no goal that can be moved; adapt to goals in point-maze or ant-maze\."):
        movable(task)
