"""The offline page as a file: what is in it, and how large it may be."""

import base64
import gzip
import json
import re

import numpy as np
import pytest

from qdpg.errors import UserError
from qdpg.explorer import page as module
from qdpg.explorer.page import differences, write_page
from qdpg.exports.episode import play_stored
from watchable import make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run") / "maze", "point-maze", {"horizon": 40}, (20, 20), policies=60)


def unpack(text):
    head, body = (
        gzip.decompress(base64.b64decode(part)) for part in re.search(r'HEAD = "(.*?)", BODY = "(.*?)"', text).groups()
    )
    return json.loads(head), np.frombuffer(body, "<i2")


def ways(head, body):
    """What the page's own player reads."""
    size, low, high = len(head["low"]), np.array(head["low"]), np.array(head["high"])
    for elite in head["elites"]:
        part = body[elite["at"] : elite["at"] + elite["frames"] * size].reshape(-1, size)
        yield elite, low + (np.cumsum(part, axis=0, dtype=np.int16).astype(int) + 32768) / 65535 * (high - low)


def test_the_page_holds_every_elite_and_its_way(run, tmp_path):
    path = tmp_path / "page.html"
    write_page(run, path)
    head, body = unpack(path.read_text())
    episodes = play_stored(run.task, run.elites, np.arange(len(run.elites)))
    assert len(head["elites"]) == len(run.elites)
    for (elite, way), episode in zip(ways(head, body), episodes, strict=True):
        kept = np.concatenate([episode.descriptors[: -1 : head["stride"]], episode.descriptors[-1:]])
        assert np.abs(way - kept).max() < 1e-4
        assert elite["values"][0] == run.elites.fitness[elite["row"]]
        x, y, *_ = elite["box"]
        assert (np.abs(run.elites.behaviours[elite["row"]] - (x, y)) <= (0.0501, 0.0501)).all()


def test_nothing_is_loaded_from_elsewhere(run, tmp_path):
    path = tmp_path / "page.html"
    write_page(run, path)
    text = path.read_text()
    assert "default-src 'none'" in text
    assert not re.search(r"https?://|<link|src=|@import", text)
    assert "@HEAD@" not in text


def test_a_page_that_would_be_too_large_keeps_fewer_steps(run, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    write_page(run, path)
    size = path.stat().st_size
    monkeypatch.setattr(module, "LARGEST", size - 500)
    write_page(run, path)
    assert path.stat().st_size <= size - 500
    head, _ = unpack(path.read_text())
    assert head["stride"] > 1
    monkeypatch.setattr(module, "LARGEST", 1000)
    with pytest.raises(UserError, match="are too many for one page"):
        write_page(run, tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


def test_differences_wrap_around_and_back():
    steps = np.array([[0.0], [1.0], [0.0], [0.5]])
    back = np.cumsum(differences(steps, np.zeros(1), np.ones(1)), axis=0, dtype=np.int16).astype(int) + 32768
    assert back[:, 0].tolist() == [0, 65535, 0, 32768]


def test_a_place_that_cannot_be_written_is_said(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError):
        write_page(run, tmp_path / "file" / "page.html")
