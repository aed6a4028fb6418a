"""What JAX compiles, kept between processes, so that the second start is quick."""

from __future__ import annotations

import os
import warnings
from pathlib import Path


def cache_compiled_programs() -> None:
    """Keep compiled programs in the user's cache directory."""
    import jax

    directory = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "qdpg" / "jax"
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    # An entry that cannot be read or written is simply compiled again.
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache entry")
    _write_entries_whole()


def _write_entries_whole() -> None:
    """Make JAX write each entry under another name first, then rename it.

    JAX writes in place and never replaces an entry, so that a process killed at that moment would leave half a program
    that every later process stumbles over. There is no public way to say so; where JAX has moved the class, its own
    way stays.
    """
    try:
        from jax._src.lru_cache import LRUCache
    except ImportError:
        return

    def put(self: LRUCache, key: str, value: bytes) -> None:
        path = Path(str(self.path)) / f"{key}-cache"
        if not path.exists():
            temporary = path.with_name(f".tmp-{key}-{os.getpid()}")
            temporary.write_bytes(value)
            temporary.replace(path)

    LRUCache.put = put  # type: ignore[method-assign]
