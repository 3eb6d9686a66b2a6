# SPDX-License-Identifier: Apache-2.0
"""Answers: the program's JSON document, its tables and pages, and a data frame."""

from __future__ import annotations

import html as _html
import json as _json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from . import _core
from ._frame import frame_of
from ._scenarios import Scenario

if TYPE_CHECKING:
    import pandas


class Document:
    """The JSON document of an answer."""

    def __init__(self, json: str, missed: bool):
        self.json = json  # the text, as the program prints it
        self.missed = missed  # plan: no option meets the targets; check: a figure changed

    def to_dict(self) -> dict[str, Any]:
        members: dict[str, Any] = _json.loads(self.json)
        return members

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the document."""
        Path(file).write_text(self.json, encoding="utf-8")


class Result(Document):
    """The answer of run, simulate, plan, advise or papers. str() is the program's table."""

    def __init__(self, question: _core.Question, answer: _core.Answer, advised: Callable[[Scenario], Result]):
        super().__init__(answer.document, answer.missed)
        self.verb = question.verb
        self.points = answer.points
        self._answer = answer
        self._scenario: Scenario = question.text or question.file
        self._advised = advised

    @cached_property
    def verdict(self) -> str | None:
        """The conclusion in a sentence, a line for each workload or setup. For run and simulate it is the advice about
        their scenario; papers have none."""
        if self.verb in ("run", "simulate"):
            return self._advised(self._scenario).verdict
        return "\n".join(self._answer.verdicts) or None

    def to_pandas(self) -> pandas.DataFrame:
        """A row per point, option, batch or cell. `attrs` has the "units" and "kinds" of the columns."""
        return frame_of(self.to_dict())

    def text(self, width: int = 0) -> str:
        """The program's table; `width`: of the terminal, 0: no limit."""
        return self._answer.render(_core.Format.table, width)

    def csv(self) -> str:
        """The program's CSV; advise has none."""
        if self.verb == "advise":
            raise ValueError("advise has no CSV: use to_pandas()")
        return self._answer.render(_core.Format.csv, 0)

    def html(self) -> str:
        """A page with charts, which needs no network."""
        return self._answer.render(_core.Format.html, 0)

    def _repr_html_(self) -> str:
        # A frame keeps the styles of the page and of the notebook apart.
        return (f'<iframe srcdoc="{_html.escape(self.html())}" title="draftline {self.verb}" '
                'style="width: 100%; height: 40em; border: 0"></iframe>')

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<draftline.Result of {self.verb}: {self.points} points>"
