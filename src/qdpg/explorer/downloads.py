"""What can be taken away from the page: each function gives a file's name and content."""

from __future__ import annotations

import io

from qdpg.exports.episode import Episode, play_stored
from qdpg.exports.export import export_policy, name_of, need
from qdpg.exports.video import film
from qdpg.report.run_figures import draw_grid
from qdpg.runs.collection import Collection
from qdpg.runs.run import Run

File = tuple[str, bytes]


def onnx_of(run: Run, elites: Collection, episode: Episode) -> File:
    """The policy, checked on its stored episode."""
    need("onnx")
    (stored,) = play_stored(run.task, elites, [episode.row], poses=False)
    return f"{name_of(elites, episode.row)}.onnx", export_policy(run, elites, stored, "onnx")[0]


def csv_of(run: Run, elites: Collection, episode: Episode) -> File:
    """The episode, a row per step: descriptors of the state, then the action taken there and its reward."""
    names = [*elites.spec.descriptor_names, *(f"action_{i}" for i in range(elites.spec.action_size)), "reward"]
    lines = [",".join(["step", *names])]
    for t, state in enumerate(episode.descriptors):
        rest = [*episode.actions[t], episode.rewards[t]] if t < len(episode) else [""] * (elites.spec.action_size + 1)
        lines.append(",".join(str(value) for value in (t, *state, *rest)))
    return f"{name_of(elites, episode.row)}.csv", ("\n".join(lines) + "\n").encode()


def video_of(run: Run, elites: Collection, episode: Episode) -> File:
    """The episode as mp4."""
    need("video")
    return f"{name_of(elites, episode.row)}.mp4", film(run.task, episode, "video")


def svg_of(run: Run, elites: Collection, episode: Episode) -> File:
    """The archive as a figure."""
    is_evaluated = elites.evaluated is not None
    words = "from fresh starts" if is_evaluated else "stored, optimistic"
    file = io.BytesIO()
    draw_grid(run.task.spec, elites.archive(is_evaluated), words).savefig(file, format="svg")
    return f"{name_of(elites, episode.row).partition('-cell')[0]}-grid.svg", file.getvalue()


FILES = {"ONNX": onnx_of, "episode as CSV": csv_of, "episode as video": video_of, "figure as SVG": svg_of}
