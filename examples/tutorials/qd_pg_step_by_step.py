# %% [markdown]
# # QD-PG step by step
#
# This page builds [QD-PG](../qd-pg.md) from its parts, runs it, and looks inside while it learns. The algorithm and
# its loop take fifty lines. It is the algorithm of the paper with small changes that are named where they stand. For
# your own work take `qdpg.train`, which can be stopped, resumed and verified; this page is for understanding.
#
# The task is [point-maze](../tasks.md#point-maze): a point starts at the bottom and must go left round one wall, then
# right round another, to a goal at the top left. The reward is minus the distance to the goal. It pulls the point
# straight up, into the walls.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import qdpg
from qdpg.learn.climbing import climb
from qdpg.learn.networks import apply_mlp, init_population, join_policies, take_policies
from qdpg.learn.td3 import TD3Settings, init_actors, init_critics
from qdpg.learn.transitions import UniformMinibatches
from qdpg.memory.elites import Elites
from qdpg.memory.replay import Replay
from qdpg.memory.visited import Visited
from qdpg.play.acting import Noise

GENERATIONS = 60
task = qdpg.make_task("point-maze")
player = qdpg.make_player(task)

# %% [markdown]
# ## The two objectives
#
# A policy is a small network that turns an observation into an action. QD-PG improves policies for two objectives:
#
# - **quality**: the environment's own reward r;
# - **diversity**: the *novelty* of a state, which is how far it lies from the states that were visited so far.
#
# Both use the same update, TD3. They differ in the reward that their critics learn from. A weight says how much of r
# and how much of the novelty counts. (r is divided by twenty, so that values are of the order of one.)

# %%
shared = {"batch_size": 100, "softness": 0.01, "actor_rate": 1e-3, "critic_rate": 1e-3}
SETTINGS = {"diversity": TD3Settings(**shared), "quality": TD3Settings(**shared, action_bound=3.0)}
REWARDS = {"diversity": jnp.array([0.0, 1.0]), "quality": jnp.array([0.05, 0.0])}

# %% [markdown]
# ## The algorithm
#
# Four memories:
#
# - `elites`, the archive: the best policy of each of 5×5 cells, by where its episode ended;
# - `visited`, called 𝔸: states that policies have been to, thinned out, so that novelty can be measured;
# - `replay`: all transitions, which critics learn from;
# - `critics`: one pair for each objective. A critic Q(s, a) estimates what an action a in a state s is worth.
#
# `ask` proposes policies. It draws elites, copies them, and lets two copies climb for each objective. `tell` is
# handed what became of them in their episodes, and remembers it.
#
# What differs from the paper: Adam instead of SGD, and a linear last layer instead of a tanh (`output="linear"`),
# because the point otherwise gets stuck at the end of the tanh.


# %%
class StepByStep:
    def __init__(self, spec, seed=0):
        self.rng, self.key, self.generation = np.random.default_rng(seed), jax.random.key(seed), 0
        self.first = init_population(self.key, 20, (2, 64, 32, 2), output="linear")
        self.elites = Elites(spec, take_policies(self.first, 0), cells=(5, 5))
        self.visited = Visited(size=2, capacity=10_000, threshold=0.01, neighbours=10)
        self.replay = Replay(250_000, observation_size=2, action_size=2, descriptor_size=2)
        self.critics = {name: init_critics(self.key, (4, 64, 32, 1), SETTINGS[name]) for name in SETTINGS}
        self.gradient_steps = 0

    def ask(self):
        if self.generation == 0:
            return self.first
        slots = self.replay.playable_slots()  # novelty is computed anew: 𝔸 has changed
        self.replay.set_novelty(slots, self.visited.novelty(self.replay.descriptors[slots]))
        return join_policies(*[self.improve(name) for name in SETTINGS])

    def improve(self, name):
        """Two elites, improved for one objective; its critics are trained on the way."""
        copies = init_actors(self.elites.sample(self.rng, 2), SETTINGS[name])
        minibatches = UniformMinibatches(self.replay.view(), REWARDS[name])
        key = jax.random.fold_in(self.key, 10 * self.generation + len(name))
        steps, settings = self.gradient_steps, SETTINGS[name]
        actors, self.critics[name] = climb(
            copies, self.critics[name], minibatches, key, steps, lambda: False, settings=settings
        )
        return actors.online

    def tell(self, population, candidates, explored):
        """Remember what happened. Exploration only teaches the critics: it stays out of 𝔸 and of the archive."""
        self.visited.add(candidates.descriptors[:, :-1][candidates.played()])
        for rollouts in (candidates, explored):
            self.replay.insert(rollouts)
        self.elites.add(population, candidates, self.generation)
        self.gradient_steps = int(1.5 * (candidates.steps + explored.steps))
        self.generation += 1


# %% [markdown]
# ## The loop
#
# Every policy plays one episode without noise, by which it is judged, and one with noise. Without noise the critics
# would never see what another action leads to. Noise that is correlated in time (0.9) goes farther than noise that is
# not.

# %%
algorithm, history, steps = StepByStep(task.spec), [], 0
for generation in range(GENERATIONS):
    population = algorithm.ask()
    seeds = 100 * generation + np.arange(len(population))
    candidates = player.play(population, seeds)
    explored = player.play(population, seeds + 50, noise=Noise(np.full(len(seeds), 0.6, np.float32), 0.9))
    algorithm.tell(population, candidates, explored)
    steps += candidates.steps + explored.steps
    elites = algorithm.elites
    history.append((steps, algorithm.visited.descriptors, dict(algorithm.critics), elites.data()))
    if generation % (GENERATIONS // 6) == 0 or generation == GENERATIONS - 1:
        print(f"{steps:7,} steps: {len(elites):2} of 25 cells, best fitness {elites.best_fitness:6.1f}")

# %% [markdown]
# Fitness is the sum of rewards of an episode. Never moving gives about −345, standing below the upper wall −126, and
# a good way to the goal −24.
#
# ## Looking inside
#
# A critic has an opinion about every place. The next function asks it in a grid of places which of sixteen directions
# it likes best. Arrows show that direction; they are long where the choice matters. Colours show the value of the
# best one.


# %%
def likes(critics, places, directions=16):
    """For each place [n, 2]: the best direction [n, 2], scaled by how much it matters, and its value [n]."""
    angles = np.arange(directions) * 2 * np.pi / directions
    actions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    pairs = np.concatenate([np.repeat(places, directions, 0), np.tile(actions, (len(places), 1))], axis=1)
    values = np.asarray(apply_mlp(critics.online[0], jnp.asarray(pairs, jnp.float32))).reshape(-1, directions)
    matters = values.max(axis=1) - values.min(axis=1)
    return actions[values.argmax(axis=1)] * (matters / matters.max())[:, None], values.max(axis=1)


def draw_walls(axes, title):
    axes.plot([-0.5, 1], [-0.5, -0.5], "k", lw=3)
    axes.plot([-1, 0.5], [0.2, 0.2], "k", lw=3)
    axes.plot(-0.5, 0.8, "*", color="tab:red", ms=12)
    axes.set(xlim=(-1, 1), ylim=(-1, 1), xticks=[], yticks=[], aspect="equal", title=title)


def draw(moment):
    steps, visited, critics, elites = moment
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.7), layout="constrained")
    places = np.stack(np.meshgrid(*[np.linspace(-0.95, 0.95, 16)] * 2), axis=-1).reshape(-1, 2)
    axes[0].plot(*visited.T, ".", ms=2)
    draw_walls(axes[0], f"𝔸: {len(visited):,} visited states")
    for panel, name in zip(axes[1:3], SETTINGS, strict=True):
        arrows, values = likes(critics[name], places)
        panel.imshow(values.reshape(16, 16), origin="lower", extent=(-1, 1, -1, 1), cmap="viridis", alpha=0.6)
        panel.quiver(*places.T, *arrows.T, scale=22, width=0.006)
        draw_walls(panel, f"critics of {name}")
    fitness = np.full(25, np.nan)
    fitness[elites["index"]] = elites["objective"]
    axes[3].imshow(fitness.reshape(5, 5).T, origin="lower", extent=(-1, 1, -1, 1), cmap="viridis", vmin=-350, vmax=-25)
    draw_walls(axes[3], f"archive: {len(elites['index'])} of 25 cells")
    figure.suptitle(f"after {steps:,} steps")
    return figure


draw(history[3]).savefig("early.png", dpi=80)

# %% [markdown]
# Early on, 𝔸 holds little more than the room below the first wall. The critics of diversity push away from it,
# outwards. The critics of quality push up, towards the goal as the crow flies: they know nothing of walls yet.

# %%
draw(history[-1]).savefig("late.png", dpi=80)

# %% [markdown]
# At the end, 𝔸 covers most of the maze. The critics of diversity are brightest where it is still empty. The critics
# of quality have learned some of the way: they point round the end of the upper wall. Alone, they stay below the
# upper wall. An elite that diversity had brought there was their starting point, and the archive kept it for them:
# each objective improves what the other has found.
#
# The same, as it grew:

# %%
import io

from PIL import Image

from qdpg.exports.video import encode_gif

frames = []
for moment in history[2 :: max(1, GENERATIONS // 20)]:
    file = io.BytesIO()
    figure = draw(moment)
    figure.savefig(file, dpi=60)
    plt.close(figure)
    frames.append(np.array(Image.open(file).convert("RGB")))
with open("growth.gif", "wb") as file:
    file.write(encode_gif(frames, rate=2))

# %% [markdown]
# ## From here to the real thing
#
# `qdpg train point-maze --algorithm qd-pg` adds what makes this dependable: parents that are chosen by fitness for
# quality, learning rates of many sizes, small random changes of good elites, and runs that can be stopped and resumed
# bit for bit. [QD-PG](../qd-pg.md) explains each, and `qdpg settings qd-pg --task point-maze` lists them.
#
# In `src/qdpg/algorithms/qd_pg.py` you will find the same `ask` and `tell`. `improve` is an *emitter* there, so that
# algorithms can share it: [Your own emitter](../own-emitter.md) shows how to add one.
