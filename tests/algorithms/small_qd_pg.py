"""A small QD-PG on a short maze. All its sizes are alike, so that tests share compiled programs."""

from qdpg.algorithms.qd_pg import QDPG
from qdpg.algorithms.qd_pg_presets import ablate
from qdpg.algorithms.qd_pg_settings import Config
from qdpg.play.player import make_player
from qdpg.tasks.point_maze import PointMaze

TASK = PointMaze(horizon=50)
PLAYER = make_player(TASK)
SMALL = Config(
    population=5,
    hidden=(16, 16),
    batch_size=32,
    gradient_steps_ratio=0.055,
    replay_size=5000,
    optimiser="sgd",
    actor_rate=0.05,
    critic_rate=0.05,
    softness=0.05,
)


def make_small(config=SMALL, seed=1, name="qd-pg", task=TASK):
    return QDPG(task.spec, ablate(config, name), seed, name)


def advance(algorithm, generations=1, player=PLAYER):
    for _ in range(generations):
        generation = algorithm.ask()
        told = algorithm.tell(generation, generation.play(player))
    return generation, told
