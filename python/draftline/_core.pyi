# SPDX-License-Identifier: Apache-2.0
import enum
import os
from pathlib import Path
from typing import Callable

version: str
commit: str

class Options:
    first_point: int
    kernels: bool
    oracle: bool
    intervals: bool
    load: bool
    most_devices: int
    headroom: float

class Question:
    def __init__(self, verb: str, seed: int) -> None: ...
    @property
    def verb(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def options(self) -> Options: ...
    file: Path
    text: str | None
    papers: list[str]

class Format(enum.Enum):
    table = ...
    markdown = ...
    html = ...
    csv = ...

class Answer:
    @property
    def document(self) -> str: ...
    @property
    def points(self) -> int: ...
    @property
    def missed(self) -> bool: ...
    @property
    def obstacle(self) -> str | None: ...
    @property
    def verdicts(self) -> list[str]: ...
    def render(self, format: Format, width: int) -> str: ...

def ask(
    question: Question,
    data: str | os.PathLike[str],
    threads: int,
    on_progress: Callable[[int, int], object] | None,
    on_note: Callable[[str], object],
) -> Answer: ...
def paper_names() -> list[str]: ...
