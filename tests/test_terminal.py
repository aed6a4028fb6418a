"""Text from elsewhere is shown and not interpreted."""

import io

import pytest
from rich.table import Table

from qdpg.terminal import is_printable, make_console, printable


@pytest.mark.parametrize("text", ["plain", "Greek ψ", "two\nlines", "[bold]", ":smile:", ""])
def test_ordinary_text_stays(text):
    assert is_printable(text)
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"), [("\x1b[31m", "\\x1b[31m"), ("a\x07", "a\\x07"), ("\u202eb", "\\u202eb"), ("\udcff", "\\udcff")]
)
def test_what_would_control_a_terminal_is_shown_as_what_it_is(text, shown):
    assert not is_printable(text)
    assert printable(text) == shown


def test_a_console_interprets_nothing():
    file = io.StringIO()
    console = make_console(file=file, width=60, force_terminal=False)
    console.print("a[/b] [red]x[/red] :smile: \x1b[31m 12")
    table = Table(title="[t]\x1b", show_header=False)
    table.add_row("[/c]", "\x1b[2J")
    console.print(table)
    said = file.getvalue()
    assert "a[/b] [red]x[/red] :smile: \\x1b[31m 12" in said
    assert "[t]\\x1b" in said
    assert "[/c]" in said
    assert "\x1b" not in said
