"""Errors that a person can do something about."""


class UserError(Exception):
    """Bad input. The message is one sentence that says what is wrong and what to do; the CLI exits with 2."""


class MissingError(UserError):
    """A file is not there."""


class DamagedError(UserError):
    """A file is not what was written; the message names the file and what is wrong with it."""


class UntrustedError(UserError):
    """Something would import code that the person has not agreed to; the message says which, and from where."""


class DivergedError(Exception):
    """A network, reward or state stopped being finite. The message names the quantity; the CLI exits with 3."""
