"""`qdpg completion`: the script by which a shell completes commands, options, and the names of tasks and algorithms."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable
from typing import Literal

from qdpg.algorithms.registry import ALGORITHMS
from qdpg.plugins import find_plugins
from qdpg.tasks.registry import BUILT_IN

Shell = Literal["bash", "zsh", "fish"]

# Tyro knows commands, options and their choices. Tasks and algorithms may also be in a file of the user's, so they are
# no choices to it; and where it knows nothing, the shell shall complete files, which it does if there is no reply.
_BASH = """
_qdpg() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} names=
  COMPREPLY=()
  if [[ $word != -* ]]; then
    case $before in
      train|tasks|check-task|play|--task|--tasks) names="{tasks}" ;;
      settings|--algorithm|--algorithms) names="{algorithms}" ;;
      --preset) names="tuned paper" ;;
      show|resume|verify|evaluate|plot|adapt|report|export|explore) return ;;
    esac
  fi
  if [[ -n $names ]]; then
    COMPREPLY=($(compgen -W "$names" -- "$word"))
  else
    _tyro_qdpg "$@"
  fi
}}
complete -o default -F _qdpg qdpg
"""


def run(shell: Shell) -> int:
    """Print the script for a shell; return 0."""
    print(_of_tyro(shell), end="")
    if shell == "bash":
        tasks, algorithms = _names(BUILT_IN, "qdpg.tasks"), _names(ALGORITHMS, "qdpg.algorithms")
        print(_BASH.format(tasks=tasks, algorithms=algorithms), end="")
    return 0


def _names(ours: Iterable[str], group: Literal["qdpg.tasks", "qdpg.algorithms"]) -> str:
    return " ".join(sorted({*ours, *find_plugins(group)}))


def _of_tyro(shell: Shell) -> str:
    """What tyro makes of the commands."""
    from qdpg.cli.main import app

    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        app.cli(prog="qdpg", args=["--tyro-print-completion", shell])
    return text.getvalue()
