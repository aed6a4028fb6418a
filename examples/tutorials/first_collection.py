# %% [markdown]
# # A first collection, and what is in it
#
# Train a collection of policies in a minute or two, look at what is in it, find out what it is worth, choose a
# policy, and take it away. Every block on this page was run in this order; what it printed stands below it.
#
# The task is [point-maze](../tasks.md#point-maze): a point starts at the bottom and must find its way round two walls
# to a goal.
#
# ## Train

# %%
import qdpg

run = qdpg.train("point-maze", "qd-pg", steps=60_000, seed=1, out="runs/first")
last = {name: column[-1] for name, column in run.metrics().items()}
print(f"{last['cells']:.0f} of 25 cells filled after {last['steps']:,.0f} steps")
print(f"best fitness {last['best_fitness']:.1f}")

# %% [markdown]
# `run.show()` prints more. `train` wrote everything into the directory `runs/first`. `qdpg.load_run("runs/first")`
# opens it again, today or next year, and `run.resume(steps=100_000)` trains on. The command line does the same: `qdpg
# train`, `qdpg show`, `qdpg resume`.
#
# ## Look
#
# The maze is divided into 5×5 *cells*. Each cell keeps the best policy whose episode ended there: its *elite*.
# Together they are the *collection*.

# %%
elites = run.elites
best = elites.best()
print(f"{len(elites)} policies. The best one has fitness {best.fitness:.1f} and ends at {best.behaviour.round(2)}.")
for policy in elites[:3]:
    print(f"cell {policy.cell:2}: fitness {policy.fitness:7.1f}, ends at {policy.behaviour.round(2)}")

# %% [markdown]
# Fitness is the sum of rewards over an episode; the reward of a step is minus the distance to the goal. So 0 would be
# perfect, and never moving gives about −345.
#
# A film of all of them at once. Bright policies are the better ones:

# %%
film = qdpg.export(run, "gif", everything=True, together=True, seconds=4)
film.files[0].rename("all-elites.gif")

# %% [markdown]
# ## What are they worth?
#
# Each elite was stored for one episode, or for the mean of a few, and the best of many had luck. To know what a policy
# does from now on, play it from fresh starts:

# %%
found = qdpg.evaluate(run, episodes=5)
elites = run.elites
for policy in sorted(elites, key=lambda each: -each.fitness)[:5]:
    print(f"cell {policy.cell:2}: stored {policy.fitness:7.1f}, evaluated {policy.evaluated_fitness:7.1f}")
share = found.summary["share_own_cell"]
print(f"{share:.0%} of the episodes ended in the cell that the policy was stored for.")

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(4.5, 4), layout="constrained")
axes.plot(elites.fitness, elites.worth, "o")
axes.plot([-350, 0], [-350, 0], "k:", lw=1)
axes.set(xlabel="stored fitness", ylabel="evaluated fitness (mean of 5)", title="every dot is an elite")
figure.savefig("stored-and-evaluated.png", dpi=80)

# %% [markdown]
# Dots below the dotted line flattered themselves. On point-maze most lie near it; on robots that walk, many do not
# ([what elites are worth](../evaluate.md)).
#
# ## Choose one
#
# A collection is searched by behaviour. Which policy ends nearest to the top right corner? It is an ordinary function
# from observations to actions, so any loop can use it. Here is Gymnasium's:

# %%
import gymnasium

policy = elites.near((0.9, 0.9))[0]
env = gymnasium.make("qdpg/PointMaze-v0")
observation, info = env.reset(seed=policy.seed)
is_over = False
while not is_over:
    observation, reward, terminated, truncated, info = env.step(policy.act(observation))
    is_over = terminated or truncated
print("stored end", policy.behaviour.round(3), "- end in this loop", info["state_descriptor"].round(3))

# %% [markdown]
# The episode is the first that this elite was judged by, bit for bit, because it began with the same seed. Elites are
# played again now and then, so the stored end is the mean of a few.
#
# ## When the goal moves
#
# This is what a collection is for. Suppose that the point is wanted somewhere else. Nobody trains again: somebody
# tries a few policies and keeps the best. `qdpg.adapt` chooses which to try, from what the tries before it gave.

# %%
import numpy as np

wanted = np.array([0.6, -0.2])


def score(policy):
    """How near one episode ends to the wanted place; higher is better."""
    observation, info = env.reset(seed=7)
    for _ in range(200):
        observation, _, terminated, _, info = env.step(policy.act(observation))
        if terminated:
            break
    return -float(np.linalg.norm(info["state_descriptor"] - wanted))


outcome = qdpg.adapt(elites, score, trials=6)
for trial in outcome.trials:
    print(f"cell {elites.cells_index[trial.elite]:2}: ended {-trial.score:.2f} away")

# %% [markdown]
# ## Take it away
#
# A collection can be saved on its own, without the run, and read without the code of the task. `qdpg.export` writes
# policies as ONNX files, which other programs can run ([taking elites away](../export.md)).

# %%
elites[elites.fitness > -200].save("good-ones")
loaded = qdpg.Collection.load("good-ones")
print(f"{len(loaded)} policies saved, the best with fitness {loaded.best().fitness:.1f}")

# %% [markdown]
# ## Where to go now
#
# - [QD-PG step by step](qd-pg-step-by-step.md): how these policies were found.
# - [Your own robot](own-robot.md): the same for a body of your own.
# - [The library](../python.md): callbacks, settings, loops of your own.
