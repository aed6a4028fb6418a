"""Plain TD3, which the tests of `learn` are written with, serves here too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "learn"))
