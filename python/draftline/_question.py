# SPDX-License-Identifier: Apache-2.0
"""What _core.ask() answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence


class Question:
    """A verb about a scenario, which is a file, or a text that replaces the file's; or about papers."""

    def __init__(self, verb: str, seed: int, file: Path = Path(), text: str | None = None, papers: Sequence[str] = (),
                 **options: Any):
        self.verb = verb
        self.seed = seed
        self.file = file
        self.text = text
        self.papers = papers
        self.options = options  # of the verb, as AskedOptions of _core has them
