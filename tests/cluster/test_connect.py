"""Ray is imported by who asks for it, and by nobody else."""

import subprocess
import sys


def test_qdpg_and_its_commands_do_not_import_ray():
    code = "import sys, qdpg, qdpg.cli.main; qdpg.RayEngine; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
