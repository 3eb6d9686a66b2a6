# SPDX-License-Identifier: Apache-2.0
"""The exceptions of draftline by cause, as core/errors.h has them, and its warning."""

from __future__ import annotations

import re
from typing import NamedTuple


class Error(Exception):
    """Any failure of draftline."""


class Mistake(NamedTuple):
    """One mistake with its place: file and JSON pointer, which are empty where a message has none."""

    file: str
    pointer: str
    text: str


def _mistake(message: str) -> Mistake:
    placed = re.match(r"(?P<file>.*?)#(?P<pointer>[^:]*): (?P<text>.*)", message, re.DOTALL)
    if placed:
        return Mistake(*placed.groups())
    named = re.match(r"(?P<file>[^#:]*\.[A-Za-z]\w*|scenario): (?P<text>.*)", message, re.DOTALL)
    return Mistake(named["file"], "", named["text"]) if named else Mistake("", "", message)


class InputError(Error, ValueError):
    """The input is wrong. Holds all mistakes that were found."""

    def __init__(self, messages: list[str]):
        super().__init__("\n".join(messages))
        self.messages = list(messages)

    @property
    def mistakes(self) -> list[Mistake]:
        return [_mistake(message) for message in self.messages]

    def __reduce__(self) -> tuple[type[InputError], tuple[list[str]]]:
        return type(self), (self.messages,)


class DeviceError(Error, RuntimeError):
    """The device failed or does not exist."""


class OutputError(Error, OSError):
    """The output can't be written."""


class Bug(Error, RuntimeError):
    """An invariant of draftline is violated. Please report it."""


class DraftlineWarning(UserWarning):
    """A note about the input that is no mistake, such as an outdated key."""
