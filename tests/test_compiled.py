import os
import subprocess
import sys

PROGRAM = """
import jax, pathlib
from qdpg.compiled import cache_compiled_programs
cache_compiled_programs()
if {die}:
    # As if killed while the first program is being written.
    whole = pathlib.Path.write_bytes
    def half(self, data):
        whole(self, data[: len(data) // 2])
        import os
        os._exit(9)
    pathlib.Path.write_bytes = half
import jax.numpy as jnp
print(jax.jit(lambda x: jnp.sort(jnp.linalg.inv(x @ x.T + 3)).sum())(jnp.eye(50)))
"""


def run(tmp_path, die):
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-W", "error", "-c", PROGRAM.format(die=die)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_a_process_killed_while_writing_leaves_no_half_entry(tmp_path):
    assert run(tmp_path, die=True).returncode == 9
    assert list((tmp_path / "qdpg" / "jax").glob(".tmp-*"))
    assert not list((tmp_path / "qdpg" / "jax").glob("*-cache"))
    first = run(tmp_path, die=False)
    assert first.returncode == 0, first.stderr
    entries = list((tmp_path / "qdpg" / "jax").glob("jit*-cache"))
    assert entries
    again = run(tmp_path, die=False)
    assert (again.returncode, again.stdout) == (0, first.stdout)
