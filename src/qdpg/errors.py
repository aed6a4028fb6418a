"""Errors that a person can do something about."""


class UserError(Exception):
    """Bad input. The message is one sentence that says what is wrong and what to do; the CLI exits with 2."""


class DivergedError(Exception):
    """A network, reward or state stopped being finite. The message names the quantity; the CLI exits with 3."""
