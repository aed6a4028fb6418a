"""Films of several elites at once: everybody is in them, and moves."""

import numpy as np
import pytest
from PIL import Image

import qdpg
from qdpg.errors import UserError
from qdpg.exports.episode import play_stored
from qdpg.exports.together import frames_together
from watchable import PENDULUM, SMALL_TASKS, make_run

SIZE = (160, 120)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs")
    made = {name: make_run(directory / name, name, *SMALL_TASKS[name]) for name in ("point-maze", "ant-trap")}
    made["pendulum"] = make_run(directory / "pendulum", *PENDULUM, noise=0.0)
    return made


def draw(run, rows, steps):
    episodes = play_stored(run.task, run.elites, rows)
    try:
        return list(frames_together(run.task, episodes, np.array(steps), SIZE))
    except UserError as error:
        if "install one" not in str(error):
            raise
        pytest.skip(str(error))


def bright_and_dark(frame):
    """Pixels in the colour of the best agent, and of the worst: yellow and violet."""
    red, green, blue = frame.astype(int).transpose(2, 0, 1)
    return int(((red + green - 2 * blue) > 200).sum()), int(((blue + red - 2 * green) > 60).sum())


@pytest.mark.parametrize("name", ["point-maze", "ant-trap"])
def test_everybody_is_seen_and_moves(runs, name):
    run = runs[name]
    order = np.argsort(run.elites.fitness)
    both = draw(run, order[[0, -1]], [0, 20])
    assert both[0].shape == (120, 160, 3)
    assert (both[0] != both[1]).any()
    assert min(bright_and_dark(both[1])) > 5, "the worst and the best are there, in colours of their own"
    assert bright_and_dark(draw(run, order[[0]], [20])[0])[0] <= 5, "one alone is not bright"


def test_who_is_done_stays(runs):
    run = runs["point-maze"]
    rows = np.arange(len(run.elites))
    longest = int(run.elites.arrays["length"].max())
    last, later = draw(run, rows, [longest, longest + 50])
    assert np.array_equal(last, later)


def test_one_file_for_all(runs, tmp_path):
    done = qdpg.export(runs["point-maze"], "gif", tmp_path, everything=True, together=True, seconds=0.5)
    assert [path.name for path in done.files] == ["point-maze-together.gif"]
    with Image.open(done.files[0]) as gif:
        assert gif.n_frames == 8


@pytest.mark.parametrize(
    ("name", "to", "sentence"),
    [
        ("pendulum", "gif", "draws itself, one agent at a time"),
        ("point-maze", "onnx", "policies are written one by one"),
    ],
)
def test_what_cannot_be_together_is_said(runs, name, to, sentence, tmp_path):
    with pytest.raises(UserError, match=sentence):
        qdpg.export(runs[name], to, tmp_path / "out", everything=True, together=True)
    assert not (tmp_path / "out").exists()
