# SPDX-License-Identifier: Apache-2.0
"""Data frames of documents. A figure {"value", "unit", "kind", "low", "high"} becomes the columns x, x.low and x.high."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

if TYPE_CHECKING:
    import pandas


class _Row:
    def __init__(self) -> None:
        self.cells: dict[str, Any] = {}
        self.units: dict[str, str] = {}
        self.kinds: dict[str, str] = {}

    def add(self, members: dict[str, Any], within: str = "") -> None:
        for key, value in members.items():
            name = within + key
            if not isinstance(value, dict):
                self.cells[name] = value
            elif "value" in value and "kind" in value:
                self._add_figure(name, value)
            else:
                self.add(value, "" if name == "inputs" else name + ".")

    def _add_figure(self, name: str, figure: dict[str, Any]) -> None:
        for end in ("value", "low", "high"):
            if end in figure:
                column = name if end == "value" else f"{name}.{end}"
                self.cells[column] = figure[end]
                self.units[column] = figure.get("unit", "")
                self.kinds[column] = figure["kind"]


def _rows(document: dict[str, Any]) -> Iterator[_Row]:
    for paper in document.get("papers", ()):
        for table in paper["tables"]:
            for cell in table["cells"]:
                row = _Row()
                row.add({"paper": paper["paper"], "table": table["table"], **cell})
                yield row
    for result in document.get("results", ()):
        by_batch = result.pop("batches", None) or [{}]  # of advise
        for batch in by_batch:
            row = _Row()
            row.add(result)
            row.add(batch)
            yield row


def frame_of(document: dict[str, Any]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise ImportError('to_pandas() needs pandas: pip install "draftline[pandas]"') from error
    rows = list(_rows(document))
    frame = pandas.DataFrame([row.cells for row in rows])
    units: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for row in rows:
        units.update(row.units)
        kinds.update(row.kinds)
    frame.attrs = {"units": units, "kinds": kinds, "commit": document["commit"], "model": document["model"]}
    return frame
