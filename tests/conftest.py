"""One cache of compiled programs for all tests and what they start, apart from the user's own."""

import os
from pathlib import Path

from qdpg.runs.compiled import cache_compiled_programs

os.environ["XDG_CACHE_HOME"] = str(Path(__file__).parents[1] / ".pytest_cache" / "compiled")
cache_compiled_programs()
