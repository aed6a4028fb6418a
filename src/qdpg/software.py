"""What results depend on besides the code and the seed: versions of libraries, and the processor."""

from __future__ import annotations

import platform
from importlib.metadata import version

import llvmlite.binding

from qdpg.version import __version__

LIBRARIES = ("jax", "jaxlib", "mujoco", "numpy", "numba", "llvmlite", "scipy", "ribs", "optax", "equinox", "gymnasium")


def find_versions() -> dict[str, str]:
    """Versions of qdpg, of the libraries and of Python, by name."""
    return {
        "qdpg": __version__,
        **{name: version(name) for name in LIBRARIES},
        "python": platform.python_version(),
    }


def find_processor() -> dict[str, str]:
    """The processor, and its vector instructions: programs may be compiled, and so round, otherwise elsewhere."""
    features = llvmlite.binding.get_host_cpu_features()
    wanted = ("sse4.2", "avx", "avx2", "fma", "avx512f", "neon", "sve")
    return {
        "cpu": llvmlite.binding.get_host_cpu_name(),
        "instruction_sets": " ".join(name for name in wanted if features.get(name)),
    }
