"""Ray is imported by who asks for it, and by nobody else; a Ray of our own keeps to itself and leaves nothing."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from qdpg.cluster.connect import connected
from qdpg.cluster.engine import RayEngine
from qdpg.errors import UserError

ALONE = """
import json, os, socket, subprocess, sys
import psutil, ray  # imported before anybody could tell it anything
from qdpg.cluster.connect import connected
from qdpg.cluster.engine import RayEngine

before = set(os.environ)
with connected(RayEngine()):
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    listening = {
        connection.laddr.ip
        for process in family
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN or connection.type == socket.SOCK_DGRAM
    }
    dashboards = [
        str(connection.laddr)
        for process in family
        if any(word.endswith("dashboard/dashboard.py") for word in process.cmdline())
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    ]
    niceness = ray.get(ray.remote(lambda: os.nice(0)).remote())
added = sorted(set(os.environ) - before)
family = [process for process in family[1:] if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
psutil.wait_procs(family, timeout=60)
left = [process.pid for process in family if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
found = {"listening": sorted(listening), "dashboards": dashboards, "niceness": niceness, "left": left, "added": added}
print(json.dumps(found))
"""

# Ray's agents on this machine need too long to start, the first time.
SLOW_START = """
import os, sys, time
if any(word.endswith("dashboard/agent.py") for word in sys.orig_argv):
    try:
        os.mkdir({marker!r})
        time.sleep(60)
    except FileExistsError:
        pass
"""


def test_qdpg_and_its_commands_do_not_import_ray():
    code = "import sys, qdpg, qdpg.cli.main; qdpg.RayEngine; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_ray_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install 'qdpg\[ray\]'"), connected(RayEngine()):
        pass


def test_an_address_where_nobody_listens():
    with socket.socket() as bound:  # but does not listen
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(UserError, match=rf"^nobody listens at --address {address} "), connected(RayEngine(address)):
            pass


@pytest.mark.slow
def test_a_ray_of_our_own_keeps_to_itself_and_a_busy_machine_gets_another_chance(tmp_path):
    for name in ("home", "site"):
        (tmp_path / name).mkdir()
    temporary = Path(tempfile.mkdtemp(prefix="q-"))  # a short name: sockets have no room for a longer one
    (tmp_path / "site" / "sitecustomize.py").write_text(SLOW_START.format(marker=str(tmp_path / "was_slow")))
    ours = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    ours |= {"HOME": str(tmp_path / "home"), "TMPDIR": str(temporary)}
    ours["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    had = os.path.exists("/tmp/ray")
    done = subprocess.run([sys.executable, "-c", ALONE], env=ours, capture_output=True, text=True, check=True)
    assert (tmp_path / "was_slow").exists()
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert set(found["listening"]) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert found["listening"]
    assert found["dashboards"] == []
    assert found["niceness"] == os.nice(0)
    assert found["left"] == []
    assert not [name for name in found["added"] if name.startswith(("RAY_AUTH", "RAY_ENABLE"))]
    assert os.listdir(tmp_path / "home") == []
    temporary.rmdir()  # it is empty
    assert os.path.exists("/tmp/ray") == had
