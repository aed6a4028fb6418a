"""Real clusters of Ray on this machine: several nodes, each with processes and shared memory of its own.

They listen to 127.0.0.1 only, have a token of their own, and write nothing outside the test's directory.
"""

import os
import secrets
import shutil
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

STORE = 80 * 2**20  # bytes of shared memory of each node: Ray's least is 75 MiB

os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
os.environ.setdefault("RAY_enable_worker_prestart", "0")  # Ray would start a process per core before anybody asks


@contextmanager
def cluster(*cores):
    """A cluster of nodes with these numbers of cores; the first is the head, and the driver's own."""
    from ray.cluster_utils import Cluster

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
    return made.add_node(
        num_cpus=number,
        object_store_memory=STORE,
        memory=4 * 2**30,
        node_ip_address="127.0.0.1",
        include_dashboard=False,
    )


def kill_node(node):
    """End all processes of a node at once, as when its plug is pulled."""
    node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)
