# SPDX-License-Identifier: Apache-2.0
"""The files of the package, and the forms in which a scenario may be given."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Mapping, Union

from . import _core

_SHARE = Path(__file__).parent / "share" / "draftline"
DATA = _SHARE / "data"  # devices, transformers, engines and papers, each with its sources

Scenario = Union[Mapping[str, Any], str, "os.PathLike[str]"]


def scenarios() -> list[str]:
    """The names of the scenarios in the package."""
    return sorted(file.stem for file in (_SHARE / "scenarios").glob("*.json"))


def scenario(name: str) -> dict[str, Any]:
    """A scenario of the package, to be changed."""
    if name not in scenarios():
        raise KeyError(f"{name!r} is none of {', '.join(scenarios())}")
    members: dict[str, Any] = json.loads((_SHARE / "scenarios" / f"{name}.json").read_text(encoding="utf-8"))
    return members


def schema(kind: str, *, data: str | os.PathLike[str] = DATA) -> dict[str, Any]:
    """The JSON Schema of a kind of file: "scenario", "device", "engine", "transformer" or "acceptance"."""
    if kind not in _core.schema_kinds():
        raise KeyError(f"{kind!r} is none of {', '.join(_core.schema_kinds())}")
    members: dict[str, Any] = json.loads(_core.schema(kind, data))
    return members


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy, other mappings than dictionaries, and paths, as JSON has them."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a scenario can't hold a {type(value).__name__}")


def file_and_text(given: Scenario) -> tuple[Path, str | None]:
    """The file of a scenario, and the text that replaces it. Paths in a dictionary are relative to the current folder."""
    if isinstance(given, Mapping):
        return Path("scenario"), json.dumps(given, default=_plain, allow_nan=False)
    if isinstance(given, str) and given.lstrip().startswith("{"):
        return Path("scenario"), given
    file = Path(given)
    if not file.exists() and str(given) in scenarios():
        return _SHARE / "scenarios" / f"{given}.json", None
    return file, None
