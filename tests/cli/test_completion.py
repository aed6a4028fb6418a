"""Completion as bash does it: the script is sourced, and its function called with the words so far."""

import shutil
import subprocess

import pytest

from qdpg.cli.completion import run

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
complete -p qdpg
_qdpg qdpg "${@: -1}" "${@: -2:1}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "qdpg"
    with pytest.MonkeyPatch.context() as patch, open(path, "w") as file:
        patch.setattr("sys.stdout", file)
        assert run("bash") == 0
    return path


@pytest.mark.parametrize(
    ("words", "expected", "not_expected"),
    [
        (["tr"], {"train"}, {"tasks"}),
        ([""], {"train", "settings", "completion", "--help"}, set()),
        (["train", "ant-"], {"ant-maze", "ant-trap", "ant-omni"}, {"point-maze"}),
        (["train", "--st"], {"--steps"}, {"--seed"}),
        (["train", "ant-maze", "--algorithm", "qd"], {"qd-pg", "qd-pg-sum"}, {"td3"}),
        (["settings", "map"], {"map-elites"}, {"qd-pg"}),
        (["settings", "qd-pg", "--task", "point"], {"point-maze"}, {"ant-maze"}),
        (["plot", "x", "--format", ""], {"png", "svg", "pdf"}, {"--help"}),
        (["show", "runs/", "--j"], {"--json"}, set()),
        (["train", "ant-maze", "--preset", ""], {"tuned", "paper"}, {"ant-maze"}),
    ],
)
def test_words_are_completed(words, expected, not_expected, script):
    command = ["bash", "-c", COMPLETE, "bash", script, "qdpg", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    how, *found = done.stdout.splitlines()
    assert how == "complete -o default -F _qdpg qdpg", "where there is no reply, files are completed"
    assert expected <= {*found}
    assert not not_expected & {*found}


@pytest.mark.parametrize("words", [["show", "ru"], ["resume", ""], ["train", "mine:"], ["report", "a", "b"]])
def test_where_nothing_is_known_the_shell_completes_files(words, script):
    command = ["bash", "-c", COMPLETE, "bash", script, "qdpg", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not "".join(done.stdout.splitlines()[1:])


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_too(shell, capsys):
    assert run(shell) == 0
    assert "check-task" in capsys.readouterr().out
