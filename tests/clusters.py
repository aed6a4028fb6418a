"""Real clusters of Ray on this machine: several nodes, each with processes and shared memory of its own.

They listen to 127.0.0.1 only, have a token of their own, and write nothing outside the test's directory.
"""

import os
import secrets
import shutil
import socket
import tempfile
import time
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path

STORE = 80 * 2**20  # bytes of shared memory of each node: Ray's least is 75 MiB

os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
os.environ.setdefault("RAY_worker_niceness", "0")  # by itself Ray makes those who work wait for everybody else
os.environ.setdefault("RAY_enable_worker_prestart", "0")  # Ray would start a process per core before anybody asks
os.environ.setdefault("RAY_worker_register_timeout_seconds", "600")  # a busy machine takes longer than one minute


class _SlowClock:
    """The time for Ray, which gives a node 30 s to start, a constant of its own: here ten minutes."""

    def __getattr__(self, name):
        return getattr(time, name)

    def monotonic(self):
        return time.monotonic() / 20


@contextmanager
def cluster(*cores):
    """A cluster of nodes with these numbers of cores; the first is the head, and the driver's own."""
    import ray._private.node
    from ray.cluster_utils import Cluster

    ray._private.node.time = _SlowClock()
    scratch = tempfile.mkdtemp(prefix="ray-")  # a short name: sockets have no room for a longer one
    (Path(scratch) / "ray").mkdir()
    os.environ["RAY_TMPDIR"] = scratch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Cluster(shutdown_at_exit=True)
        try:
            for number in cores:
                add_node(made, number)
            yield made
        finally:
            made.shutdown()
            shutil.rmtree(scratch, ignore_errors=True)
            del os.environ["RAY_TMPDIR"]


def add_node(made, number):
    """Add a node with a number of cores; return it."""
    # A node that has to find ports for its agents ends itself after 15 s, which a busy machine may take.
    agents = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
    return made.add_node(
        **dict(zip(agents, free_ports(len(agents)), strict=True)),
        num_cpus=number,
        object_store_memory=STORE,
        memory=4 * 2**30,
        node_ip_address="127.0.0.1",
        include_dashboard=False,
    )


def free_ports(number):
    """Ports of this machine that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def add_foreign_node(made, number, path):
    """Add a node whose Python finds in the directory `path` what it imports."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(path)
    try:
        return add_node(made, number)
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def kill_node(node):
    """End all processes of a node at once, as when its plug is pulled."""
    node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)
