"""A connection to Ray for as long as it is needed.

A Ray of our own listens to this machine only, opens no dashboard, reports to nobody, has a token of its own, and leaves
nothing behind: by itself Ray 2.60 would listen to the network, and write into the home directory.
"""

from __future__ import annotations

import logging
import os
import secrets
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil

from qdpg.cluster.engine import RayEngine
from qdpg.cluster.scratch import Scratch
from qdpg.errors import UserError

_STORE = 256 * 2**20  # bytes of shared memory of a Ray of our own, at least
_STORE_SHARE = 0.1  # of the free memory, otherwise
_ATTEMPTS = 3  # to start it, on a machine that is too busy for Ray's patience


@contextmanager
def connected(engine: RayEngine) -> Iterator[ModuleType]:
    """Connect to Ray, or use the connection that is there already; yield the module.

    Raises:
        UserError: Ray is not installed, or does not answer.
    """
    for name, value in _environment(engine).items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise UserError("--engine ray needs Ray; install it with: pip install 'qdpg[ray]'") from None
    if ray.is_initialized():  # by whoever calls us
        yield ray
        return
    with _cluster(ray, engine.address) if engine.address else _own_ray(ray):
        yield ray


@contextmanager
def _cluster(ray: ModuleType, address: str) -> Iterator[None]:
    """Be connected to a cluster."""
    try:
        _init(ray, address, address=address)
        yield
    finally:
        ray.shutdown()


@contextmanager
def _own_ray(ray: ModuleType) -> Iterator[None]:
    """Start Ray, and end it."""
    scratch = Scratch("qdpg-ray-")
    try:
        for attempt in range(1, _ATTEMPTS + 1):
            before = set(psutil.Process().children())
            try:
                _init(ray, "this machine", **_own(scratch.path))
                break
            except UserError:  # a node whose agents need longer than 15 s to start ends itself: try again
                _end(set(psutil.Process().children(recursive=True)) - before)
                if attempt == _ATTEMPTS:
                    raise
        yield
    finally:
        ray.shutdown()
        scratch.remove()


def _init(ray: ModuleType, name: str, **where: Any) -> None:
    """Connect.

    Raises:
        UserError: Nobody answers.
    """
    try:
        with warnings.catch_warnings():
            # JAX fears for a copy of this process, but what Ray starts becomes another program at once.
            warnings.filterwarnings("ignore", message=r"os\.fork")
            ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # of any kind: where Ray gives up waiting, it is a plain `Exception`
        hint = "; choose a TMPDIR with a shorter name." if "AF_UNIX path" in str(error) else ""
        raise UserError(f"Ray does not answer at {name}: {first_line(error)}{hint}") from error


def _end(processes: Iterable[psutil.Process]) -> None:
    """End what a failed attempt has left."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _environment(engine: RayEngine) -> Mapping[str, str]:
    """What Ray reads when it is imported or started; what the user has set stays."""
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    if engine.address is not None:
        return quiet
    own = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # despite its name: listen to 127.0.0.1 only, on every system
    if not {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & set(os.environ):
        own |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return quiet | own


def _own(scratch: Path) -> dict[str, Any]:
    """Arguments for a Ray of our own."""
    return {
        "address": "local",
        "num_cpus": len(os.sched_getaffinity(0)),
        "include_dashboard": False,
        "object_store_memory": max(_STORE, int(_STORE_SHARE * psutil.virtual_memory().available)),
        "_temp_dir": str(scratch),
        "_system_config": {"worker_niceness": 0},  # our processes do the work, and are not there beside it
    }


def first_line(error: Exception) -> str:
    """The first line of an error."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
