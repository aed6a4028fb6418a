"""Exported policies and videos: real files, read by others than those who wrote them."""

import io
import json
import subprocess
import sys
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import onnx
import onnxruntime
import pytest
from PIL import Image

import qdpg
from qdpg.errors import UserError
from qdpg.exports import export as module
from qdpg.exports.choose import cell_of, choose
from qdpg.exports.episode import play_fresh, play_stored
from qdpg.exports.frames import make_drawing_env, picture_frames
from watchable import PENDULUM, SMALL_TASKS, make_run

EXAMPLE = Path(__file__).parents[2] / "examples" / "run_exported_policy.py"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A small run of each task, and one of a Gymnasium environment."""
    directory = tmp_path_factory.mktemp("runs")
    made = {name: make_run(directory / name, name, *how) for name, how in SMALL_TASKS.items()}
    made["pendulum"] = make_run(directory / "pendulum", *PENDULUM, noise=0.0)
    return made


@pytest.mark.parametrize("name", [*SMALL_TASKS, "pendulum"])
@pytest.mark.parametrize("to", ["onnx", "npz"])
def test_all_elites_act_as_the_player_does(runs, name, to, tmp_path):
    run = runs[name]
    done = qdpg.export(run, to, tmp_path, everything=True)
    assert len(done.files) == len(run.elites) >= 1
    assert 0 <= done.largest_difference <= 1e-5
    assert sorted(tmp_path.iterdir()) == sorted(done.files)


@pytest.mark.parametrize("output", ["linear", "gaussian", "tanh"])
def test_every_kind_of_output_is_clipped_and_alike(tmp_path, output):
    from qdpg.exports.policies import act_with_onnx, to_onnx
    from qdpg.runs.collection import Policy

    rng, width = np.random.default_rng(3), 4 if output == "gaussian" else 2
    weights = tuple(rng.normal(size=size).astype(np.float32) * 2 for size in ((3, 5), (5, width)))
    biases = tuple(rng.normal(size=size).astype(np.float32) for size in (5, width))
    policy = Policy(weights, biases, "tanh", output, 0.0, np.zeros(2), 0)
    seen = rng.normal(size=(50, 3)).astype(np.float32) * 3
    actions = act_with_onnx(to_onnx(policy, {}), seen)
    assert actions.shape == (50, 2)
    assert np.abs(actions - policy.act(seen)).max() <= 1e-6
    assert np.abs(actions).max() <= 1
    assert output != "linear" or (np.abs(actions) == 1).any()


def test_metadata_say_what_is_needed(runs, tmp_path):
    run = runs["point-maze"]
    row = int(run.elites.worth.argmax())
    model = onnx.load(qdpg.export(run, out=tmp_path).files[0])
    about = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(about["cell"]) == list(cell_of(run.elites, row))
    assert json.loads(about["action_low"]) == [-0.1, -0.1]
    assert json.loads(about["task_options"]) == {"horizon": 40}
    assert json.loads(about["behaviour"]) == run.elites.behaviours[row].tolist()
    assert (about["task"], about["horizon"], about["fitness"]) == ("point-maze", "40", repr(run.elites[row].fitness))
    assert json.loads(about["descriptor_names"]) == ["x", "y"]


def test_the_example_needs_no_qdpg_and_does_what_was_stored(runs, tmp_path):
    run = runs["pendulum"]
    path = qdpg.export(run, out=tmp_path).files[0]
    blocked = "import sys; sys.modules.update(qdpg=None, jax=None); sys.argv = sys.argv[1:];"
    code = f"{blocked} import runpy; runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", code, str(EXAMPLE), str(path), "Pendulum-v1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["steps"] == 30
    assert said["stored_fitness"] == run.elites.best().fitness
    assert said["return"] == pytest.approx(said["stored_fitness"], abs=0.01)


def test_a_policy_that_differs_is_not_written(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TOLERANCE", -1.0)
    with pytest.raises(UserError, match=r"does not act alike as onnx.*nothing was written"):
        qdpg.export(runs["point-maze"], out=tmp_path / "new", everything=True)
    assert not (tmp_path / "new").exists()


def test_choosing(runs):
    elites = runs["point-maze"].elites
    assert choose(elites).tolist() == choose(elites, best=True).tolist() == [elites.worth.argmax()]
    for row in range(len(elites)):
        assert choose(elites, cell=cell_of(elites, row)).tolist() == [row]
        assert choose(elites, near=elites.behaviours[row] + 1e-4).tolist() == [row]


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"cell": (5, 0)}, "there is no cell 5,0; --cell takes one number for each of 0 to 4 and 0 to 4"),
        ({"cell": (-1, 0)}, "there is no cell -1,0"),
        ({"cell": (1,)}, "there is no cell 1;"),
        ({"near": (0.1,)}, "--near takes 2 finite numbers \\(x, y\\)"),
        ({"near": (np.nan, 0)}, "--near takes 2 finite numbers"),
        ({"near": (0, 0), "best": True}, "give only one of"),
    ],
)
def test_bad_choices_are_said(runs, how, sentence):
    with pytest.raises(UserError, match=sentence):
        choose(runs["point-maze"].elites, **how)


def test_an_empty_cell_names_its_nearest_neighbour(runs):
    elites = runs["point-maze"].elites
    empty = next(i for i in range(25) if i not in elites.cells_index)
    with pytest.raises(UserError, match=r"is empty; the nearest that is not is \d,\d"):
        choose(elites, cell=(empty // 5, empty % 5))


@pytest.mark.parametrize("name", [*SMALL_TASKS, "pendulum"])
def test_a_stored_episode_is_the_stored_one(runs, name):
    run = runs[name]
    rows = np.arange(len(run.elites))
    for row, episode in zip(rows, play_stored(run.task, run.elites, rows), strict=True):
        assert episode.fitness == run.elites.fitness[row]
        assert np.array_equal(episode.descriptors[-1], run.elites.behaviours[row])
        assert len(episode) == run.elites.arrays["length"][row]
        if episode.poses is not None:  # the ants' observations hold their joints
            assert np.array_equal(episode.poses[:, 2:].astype(np.float32), episode.observations[:, 2:15])
    fresh = play_fresh(run.task, run.elites, rows[:2], seed=1)
    assert fresh[0].seed == fresh[1].seed not in run.elites.seeds


def test_a_video_of_mujoco_shows_movement(runs, tmp_path):
    try:
        (path,) = qdpg.export(runs["ant-trap"], "video", tmp_path).files
    except UserError as error:
        if "install one" not in str(error):
            raise
        pytest.skip(str(error))
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    read = subprocess.run(command, capture_output=True, check=True, timeout=120)
    frames = np.frombuffer(read.stdout, np.uint8).reshape(-1, 480, 640, 3)
    assert len(frames) == 26
    assert b" 20 fps" in read.stderr  # a step takes 0.05 s
    assert (frames[0] != frames[-1]).mean() > 0.02


def test_a_gif_of_a_moving_point(runs, tmp_path):
    (path,) = qdpg.export(runs["point-maze"], "gif", tmp_path, seconds=0.5).files
    with Image.open(path) as gif:
        assert gif.n_frames == 8
        assert gif.size == (270, 270)


def test_a_gymnasium_environment_draws_itself(runs):
    run = runs["pendulum"]
    (episode,) = play_stored(run.task, run.elites, [0])
    try:
        import pygame  # noqa: F401 (Gymnasium's classic control draws with it)
    except ImportError:
        assert make_drawing_env(run.task) is not None  # it fails only when it draws
        with pytest.raises(UserError, match=r"cannot be drawn.*pygame"):
            list(picture_frames(run.task, episode, np.array([0]), (100, 100)))
        return
    first, last = picture_frames(run.task, episode, np.array([0, 30]), (100, 100))
    assert first.shape == last.shape
    assert (first != last).any()


def test_several_runs_in_one_command(runs, tmp_path, capsys):
    from qdpg.cli.export import run as command

    paths = [runs["ant-maze"].path, runs["ant-trap"].path]
    nothing = (False, None, None, True, None, np.inf)
    assert command(paths, "onnx", *nothing, tmp_path, True, False) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["files"]) == sum(len(runs[name].elites) for name in ("ant-maze", "ant-trap"))
    assert said["largest_difference"] <= 1e-5
    onnxruntime.InferenceSession(io.BytesIO(Path(said["files"][-1]).read_bytes()).getvalue())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--cell", "a,b"), "must be whole numbers between commas"),
        (("--near", "1;2"), "must be numbers between commas"),
        (("--cell", "9,9"), "there is no cell 9,9"),
        (("--seconds", "0", "--to", "gif"), "must be positive"),
        (("--fresh", "-1", "--to", "gif"), "--fresh is -1, but must be at least 0"),
        (("--best", "--all"), "give only one of"),
    ],
)
def test_bad_arguments_are_one_sentence(runs, words, sentence, tmp_path):
    from processes import qdpg as command

    done = command("export", runs["point-maze"].path, "--out", tmp_path / "out", *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
