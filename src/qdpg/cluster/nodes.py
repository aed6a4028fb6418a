"""Who may work for us: nodes with the same versions, since results depend on them."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from typing import NamedTuple

from qdpg.software import find_processor, find_versions

_ADVICE = "install the same requirements.lock on every node (docs/cluster.md), or take it out of the cluster."


class Node(NamedTuple):
    """Where a process of Ray runs, and what with."""

    name: str
    versions: Mapping[str, str]
    processor: Mapping[str, str]


def this_node() -> Node:
    """The machine that this process runs on."""
    return Node(socket.gethostname(), find_versions(), find_processor())


def refusal(node: Node, ours: Node) -> str | None:
    """Say in one sentence why `node` must not work for us; None if it may."""
    other = [
        f"{name} {node.versions.get(name)} instead of {version}"
        for name, version in ours.versions.items()
        if node.versions.get(name) != version
    ]
    return f"node {node.name} has {', '.join(other)}; {_ADVICE}" if other else None


def failed_start(error: Exception) -> str | None:
    """Say in one sentence that our code cannot be loaded on a node, if that is why an actor died; None otherwise."""
    if not getattr(error, "actor_init_failed", False):
        return None
    lines = str(error).strip().splitlines()
    where = re.search(r"\bip=([^\s,)]+)", lines[0])
    return f"node {where[1] if where else '?'} cannot load this version of qdpg ({lines[-1].strip()}); {_ADVICE}"


def remark(node: Node, ours: Node) -> str | None:
    """Say in one sentence what differs without being refused; None if nothing does."""
    if node.processor == ours.processor:
        return None
    return (
        f"node {node.name} has another processor ({node.processor['cpu']}, not {ours.processor['cpu']}): results are "
        "as good, but bit for bit the same only on like ones (docs/reproducibility.md)."
    )
