"""A connection to Ray for as long as it is needed.

A Ray of our own listens to this machine only, opens no dashboard, reports to nobody, has a token of its own, and leaves
nothing behind: by itself Ray 2.60 would listen to the network, and write into the home directory.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import warnings
from collections.abc import Iterator, Mapping
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
_BEYOND = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # despite its name: 0 means to listen to 127.0.0.1 only, on every system
_PATIENCE = 20.0  # seconds to wait for somebody to answer
_ATTEMPTS = 3  # to start it, on a machine that is too busy for Ray's patience


@contextmanager
def connected(engine: RayEngine) -> Iterator[ModuleType]:
    """Connect to Ray, or use the connection that is there already; yield the module.

    Raises:
        UserError: Ray is not installed, or does not answer.
    """
    try:
        import ray
    except ImportError:
        raise UserError("--engine ray needs Ray; install it with: pip install 'qdpg[ray]'") from None
    if ray.is_initialized():  # by whoever calls us
        yield ray
        return
    with _environment(_variables(engine)), _cluster(ray, engine.address) if engine.address else _own_ray(ray):
        yield ray


@contextmanager
def _cluster(ray: ModuleType, address: str) -> Iterator[None]:
    """Be connected to a cluster."""
    _check_answer(address)
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
            try:
                _init(ray, "this machine", **_own(scratch.path))
                break
            except UserError:  # a node whose agents need longer than 15 s to start ends itself: try again
                _end_leftovers(scratch.path)
                if attempt == _ATTEMPTS:
                    raise
        yield
    finally:
        ray.shutdown()
        scratch.remove()


def _check_answer(address: str) -> None:
    """Refuse an address where nobody listens: Ray would try for minutes.

    Raises:
        UserError: Nobody does.
    """
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except OSError as error:
        raise UserError(
            f"nobody listens at --address {address} ({first_line(error)}); is the cluster's head node there?"
        ) from error


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


def _end_leftovers(scratch: Path) -> None:
    """End the processes of a failed attempt, which know the directory by name."""
    for child in psutil.Process().children():
        with suppress(psutil.Error):
            if any(str(scratch) in word for word in child.cmdline()):
                for process in (*child.children(recursive=True), child):
                    process.kill()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables for a while; what the user has set stays."""
    added = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(added)
    _read_environment()
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
        _read_environment()


def _read_environment() -> None:
    """Have Ray read the environment again. By itself it does so once, which may be long ago."""
    from ray._private import ray_constants
    from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]

    ray_constants.ENABLE_RAY_CLUSTER = ray_constants.env_bool(_BEYOND, not ray_constants.IS_WINDOWS_OR_OSX)
    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()


def _variables(engine: RayEngine) -> dict[str, str]:
    """What Ray reads."""
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    if engine.address is not None:
        return quiet
    own = {_BEYOND: "0"}
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
