"""The explorer and its offline page in a real Chromium: click a cell, see the agent move, where it really was."""

import re
import time

import mujoco
import numpy as np
import pytest
from browser import find_browser, open_page

from qdpg.explorer.app import Explorer
from qdpg.explorer.guard import start_server
from qdpg.explorer.page import write_page
from qdpg.exports.choose import cell_of
from qdpg.exports.episode import body_places, play_stored
from qdpg.tasks.task import MujocoTask, compile_model
from watchable import SMALL_TASKS, make_run

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of viser, Playwright and what they import
PATIENCE = 120.0  # seconds; software rendering on a busy machine is slow


@pytest.fixture(scope="module", autouse=True)
def browser():
    """Skip all of this where there is no browser."""
    return find_browser()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs")
    return {name: make_run(directory / name, name, *how, policies=12) for name, how in SMALL_TASKS.items()}


def wait(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)


def read_steps(page):
    """Where the page says that the agent is, by step."""
    found = re.findall(r"step (\d+) of \d+: x (\S+), y (\S+)", page.inner_text("body"))
    return {int(step): (x, y) for step, x, y in found}


@pytest.mark.parametrize("name", list(SMALL_TASKS))
def test_click_a_cell_and_see_it_move(runs, name):
    run = runs[name]
    explorer = Explorer(start_server("127.0.0.1", 0, None), [run])
    try:
        with open_page(f"http://127.0.0.1:{explorer.server.get_port()}/") as (page, errors):
            page.wait_for_selector("text=ribbons", timeout=1000 * PATIENCE)
            wait(lambda: explorer.server.get_clients())
            (client,) = explorer.server.get_clients().values()
            best = explorer.selected[0]
            cell = next(n for n, row in enumerate(explorer.cells.rows) if row >= 0 and row != best)
            row, centre = int(explorer.cells.rows[cell]), explorer.cells.centres[cell]
            # Look at the cell from above, from near, so that it is in the middle of the picture.
            client.camera.position = centre + max(explorer.cells.sizes[cell][:2]) * np.array([0.0, -0.5, 2.0])
            client.camera.look_at = centre
            page.wait_for_timeout(3000)
            explorer.controls._speed.value = "0.25×"  # so that there is time to look
            explorer.controls._set_speed()
            page.mouse.move(400, 250)
            page.wait_for_timeout(500)
            page.mouse.down()
            page.mouse.up()
            wait(lambda: explorer.shown[0].row == row)
            (stored,) = play_stored(run.task, run.elites, [row])
            client.camera.position = centre + 4 * np.array([0.0, -0.5, 0.6]) * min(1.0, explorer.stage.frame.width / 2)
            client.camera.look_at = centre
            steps = set()

            def moves():
                if explorer.playback.is_over(time.monotonic()):
                    explorer.play()  # a short episode may be over before a busy browser shows it
                steps.update(read_steps(page))
                return len(steps) > 1

            wait(moves)
            pictures = []
            for step in (0, len(stored) // 2, len(stored)):
                explorer.controls._scrub.value = step
                explorer.controls._scrubbed()
                wait(lambda step=step: step in read_steps(page))
                x, y = read_steps(page)[step]
                assert (np.float32(x), np.float32(y)) == tuple(stored.descriptors[step])
                page.wait_for_timeout(1000)
                scene = {"x": 0, "y": 190, "width": 460, "height": 310}  # without the controls
                pictures.append(page.screenshot(clip=scene, timeout=1000 * PATIENCE))
            assert len(set(pictures)) == 3, "the agent is seen to stay where it is"
            assert not errors
    finally:
        explorer.close()


@pytest.mark.parametrize("name", list(SMALL_TASKS))
def test_the_offline_page_opens_from_disk_without_a_network(runs, name, tmp_path):
    run, path = runs[name], tmp_path / "page.html"
    write_page(run, path)
    with open_page(path.as_uri(), offline=True) as (page, errors):
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.wait_for_selector("#elite:has-text('cell')", timeout=1000 * PATIENCE)
        row = int(run.elites.worth.argmax())
        (stored,) = play_stored(run.task, run.elites, [row])
        page.select_option("#speed", "0.25")
        last = page.evaluate("Number(document.getElementById('step').max)")
        pictures = []
        for frame in (0, int(last) // 2, int(last)):
            page.evaluate(
                "f => { const s = document.getElementById('step'); s.value = f; s.dispatchEvent(new Event('input')); }",
                frame,
            )
            page.wait_for_timeout(300)
            shown = page.evaluate("window.qdpg")
            pictures.append(page.locator("#scene").screenshot(timeout=1000 * PATIENCE))
            step = min(shown["step"], len(stored))
            if isinstance(run.task, MujocoTask):
                places, _ = body_places(compile_model(run.task), stored.poses[[step]])
                assert np.abs(np.array(shown["bodies"]) - places[0]).max() < 2e-3
            else:
                assert np.abs(np.array(shown["place"][:2]) - stored.descriptors[step]).max() < 1e-4
        assert len(set(pictures)) == 3, "the agent is seen to stay where it is"
        if name == "point-maze":  # cells of the ants' runs are smaller than a pixel
            other = next(n for n in range(len(run.elites)) if n != row)
            (i, j), box = cell_of(run.elites, other), page.locator("#archive").bounding_box()
            at = {"x": (i + 0.5) / 5 * box["width"], "y": (1 - (j + 0.5) / 5) * box["height"]}
            page.locator("#archive").click(position=at)
            page.wait_for_timeout(500)
            assert page.evaluate("window.qdpg.selected") == [f"{i},{j}"]
        assert not errors
        assert not asked


def test_a_frame_that_is_older_than_a_click_does_not_stop_the_page(runs, tmp_path):
    path = tmp_path / "page.html"
    write_page(runs["point-maze"], path)
    late = "const own = window.requestAnimationFrame; window.requestAnimationFrame = f => own(t => f(t - 5000));"
    path.write_text(path.read_text().replace("<script>", f"<script>{late}</script><script>", 1))
    with open_page(path.as_uri()) as (page, errors):
        page.wait_for_selector("#where:has-text('step 0 of')", timeout=1000 * PATIENCE)
        page.wait_for_selector("#where:not(:has-text('step 0 of'))", timeout=1000 * PATIENCE)
        assert not errors


def test_the_model_in_the_page_knows_all_joints():
    from qdpg.explorer.page import describe_model

    xml = """<mujoco><worldbody><body><freejoint/><geom size="1"/><body pos="1 0 0"><joint type="hinge" axis="0 0 1"/>
    <geom type="capsule" size=".1 1"/><body><joint type="slide"/><geom type="box" size="1 1 1"/></body></body></body>
    </worldbody></mujoco>"""
    about = describe_model(mujoco.MjModel.from_xml_string(xml))
    assert [[joint["type"] for joint in body["joints"]] for body in about["bodies"]] == [[], [0], [3], [2]]
    assert [geom["type"] for geom in about["geoms"]] == [2, 3, 6]
