"""Text for terminals: what comes from files, names and arguments is shown, and never interpreted."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_KEPT = "\n\t"
_CONTROLLING = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control and format characters, surrogates, separators of lines


def is_printable(text: str) -> bool:
    """Whether showing `text` does nothing but show it: no control characters but line ends, no turned text."""
    return (text.isascii() and text.isprintable()) or not any(map(_controls, text))


def has_controls(text: str) -> bool:
    """Whether there are control characters in `text`, line ends among them: no name and no number needs them."""
    return any(unicodedata.category(c) == "Cc" for c in text)


def printable(text: object) -> str:
    r"""Any text as something that can be shown, with `\x1b` and the like for what cannot."""
    return "".join(c.encode("unicode_escape", "surrogatepass").decode() if _controls(c) else c for c in str(text))


def _controls(character: str) -> bool:
    return character not in _KEPT and unicodedata.category(character) in _CONTROLLING


def make_console(**options: Any) -> Console:
    """A console that shows text as it is: brackets, colons and numbers in it mean nothing."""
    from rich.console import Console

    class Plain(Console):
        """Shows what would control the terminal as what it is."""

        def render_str(self, text: str, **how: Any) -> Any:
            return super().render_str(printable(text), **how)

    return Plain(markup=False, emoji=False, highlight=False, **options)
