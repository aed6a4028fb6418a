from dataclasses import dataclass

from qdpg.meanings import read_meanings


@dataclass
class Base:
    """A base.

    Attributes:
        first: One line.
        second: Of the base: not of what
            derives from it.
    """

    first: int = 1
    second: int = 2


@dataclass
class Derived(Base):
    """Derived. Attributes: are not listed here.

    Attributes:
        second: Two lines, with a colon: and
            an end.
        third: The last.

    What follows: is no attribute.
    """

    third: int = 3


class Silent:
    pass


def test_meanings_are_those_of_the_nearest_docstring():
    meanings = {"first": "One line.", "second": "Two lines, with a colon: and an end.", "third": "The last."}
    assert read_meanings(Derived) == meanings
    assert read_meanings(Silent) == {}
