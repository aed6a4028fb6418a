# %% [markdown]
# # Your own robot
#
# From a MuJoCo file to a collection of policies: a rover with two driven wheels and a castor. It stands in front of a
# block. Where can it park within five seconds, and how cheaply?
#
# You need two files: the robot, and a task that says what policies see, what they are paid for, and what tells them
# apart. (If your robot walks on four legs and Gymnasium's `Ant-v5` suits it, the task takes a dozen lines: [Your own
# task](../your-own-task.md).)
#
# ## The robot
#
# This is `rover.xml`. Commands go from −1 to 1, because policies act in that range. `autoreset` is off: a simulation
# that explodes shall be an error, not a silent jump back to the start.

# %% [file] rover.xml

# %% [markdown]
# ## The task
#
# This is `rover.py`, in the same directory. A task is a frozen dataclass; its fields are its options, such as
# `horizon`. Methods are about n simulations at once: `physics.qpos` has a row for each. What has to be decided:
#
# - **What policies see** (`observe`). Place, heading and speeds, each of the order of one.
# - **What they are paid for** (`reward`). Here minus the effort, so that the cheapest way to each place is kept.
# - **What tells them apart** (`describe`). This is the *state descriptor* ψ: here the place (x, y). An episode is
#   described by ψ of its last state, so the collection will hold one policy for each place. `descriptor_low` and
#   `descriptor_high` are the bounds.
# - **When an episode really ends** (`terminated`), apart from the time limit.

# %% [file] rover.py

# %% [markdown]
# ## Check it
#
# `qdpg check-task rover:Rover` plays random episodes and says in words what is wrong. In Python:

# %%
from rover import Rover

from qdpg.play.warn import warn_task
from qdpg.tasks.check import check_task

print("problems:", check_task(Rover()) or "none")
print("warnings:", warn_task(Rover()) or "none")

# %% [markdown]
# What a mistake looks like: bounds that the rover leaves.

# %%
from dataclasses import replace


class TooSmall(Rover):
    spec = property(lambda self: replace(Rover().spec, descriptor_high=(0.01, 0.01), floor=None))


print(check_task(TooSmall())[0])

# %% [markdown]
# ## Train
#
# The name of a task of your own is `module:name`. No preset knows this task, so settings follow from its sizes and
# bounds ([what you get where nobody tuned](../general.md)). MAP-Elites is the quickest to try: it needs no gradients.

# %%
import qdpg

run = qdpg.train("rover:Rover", "map-elites", steps=80_000, seed=0, out="runs/rover")
last = {name: column[-1] for name, column in run.metrics().items()}
print(f"{last['cells']:.0f} of 100 cells filled after {last['steps']:,.0f} steps")

# %% [markdown]
# ## Look
#
# All rovers at once, from the same kind of start; the bright ones used the least effort. Then the archive: each cell
# is a place on the floor, its colour the fitness of the policy that parks there. Grey cells are places that nobody
# has reached yet.

# %%
film = qdpg.export(run, "gif", everything=True, together=True)
film.files[0].rename("all-rovers.gif")

# %%
from qdpg.report.figures import save_figure
from qdpg.report.run_figures import draw_grid

save_figure(draw_grid(run.spec, run.elites.archive()), "archive.png")

# %% [markdown]
# `qdpg plot runs/rover` draws this and three more pictures, and `qdpg explore runs/rover` shows the archive in a
# browser, where a click on a cell plays its policy.
#
# ## Use it
#
# Which policy parks at the left behind the start, and what does it tell the wheels first?

# %%
policy = run.elites.near((-1.0, 0.5))[0]
print(f"it ends at {policy.behaviour.round(2)} with fitness {policy.fitness:.1f}")
observation = [0, 0, 1, 0, 0, 0, 0, 0]  # at the start, facing ahead, at rest
print("first commands, left and right:", policy.act(observation).round(2))

# %% [markdown]
# ## And then
#
# - Does it get better? `qdpg resume runs/rover --steps 400000` goes on. Try a gradient method beside it: `qdpg
#   compare --tasks rover:Rover --algorithms map-elites,qd-pg,dc-qd-pg --seeds 3 --steps 200000 --out runs/choice`
#   ([which algorithm](../choosing.md)).
# - Nothing is learned? [When it does not learn](../not-learning.md) goes through the causes, the cheapest first.
# - Another descriptor gives another collection: how long each wheel turned, how fast it was, where it was after a
#   second. [Which descriptors](../choosing.md#which-descriptors-ψ-and-ξ) has advice.
# - A policy on the real robot: `qdpg export runs/rover --to onnx --near 1.3,0` ([taking elites away](../export.md)).
