"""The first section of docs/your-own-task.md does what it says, command by command."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECTION = (ROOT / "docs" / "your-own-task.md").read_text().split("## What a task is")[0]


def test_the_robot_of_the_document_is_the_one_in_examples():
    (code,) = re.findall(r"```python\n(.*?)```", SECTION, re.S)
    assert code.split("\n", 1)[1] in (ROOT / "examples" / "my_robot.py").read_text()


@pytest.mark.slow
def test_every_command_works(tmp_path):
    for name in ("dog.xml", "my_robot.py"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    (block,) = re.findall(r"```sh\n(.*?)```", SECTION, re.S)
    commands = block.strip().splitlines()
    assert len(commands) == 4
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    for command in commands:
        words = [sys.executable, "-m", "qdpg", *shlex.split(command)[1:]]
        words += ["--evaluate-seconds", "5"] if "train" in words else []
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs" / "dog" / "figures" / "grid.png").is_file()
