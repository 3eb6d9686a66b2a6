# SPDX-License-Identifier: Apache-2.0
"""The verbs that api/ answers in this process. They share the options of How."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence, TypedDict, Union

from . import _core
from ._errors import DraftlineWarning, InputError
from ._result import Result
from ._scenarios import DATA, Scenario, file_and_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

Progress = Union[None, bool, Callable[[int, int], object]]


class How(TypedDict, total=False):
    """Options of every question."""

    seed: int  # of arrivals, lengths and acceptance; default 0
    jobs: int  # threads; default 1. The answer does not depend on it
    progress: Progress  # called with (done, of) by the calling thread; True: a bar of tqdm
    data: "os.PathLike[str] | str"  # a folder like draftline.DATA


@contextmanager
def _callback(progress: Progress) -> Iterator[Callable[[int, int], object] | None]:
    if progress is not True:
        yield progress or None
        return
    from tqdm.auto import tqdm

    with tqdm() as bar:

        def show(done: int, of: int) -> None:
            bar.total = of
            bar.update(done - bar.n)

        yield show


def _answer(question: _core.Question, how: How) -> Result:
    given: dict[str, Any] = dict(how)
    jobs = given.pop("jobs", 1)
    data = given.pop("data", DATA)
    progress = given.pop("progress", None)
    if given:
        raise TypeError(f"{question.verb}() has no option {', '.join(map(repr, given))}")
    if not 1 <= jobs <= 1024:
        raise ValueError("jobs: must be from 1 to 1024")
    notes: list[str] = []
    try:
        with _callback(progress) as callback:
            answer = _core.ask(question, data, jobs, callback, notes.append)
    finally:
        for note in notes:
            warnings.warn(note, DraftlineWarning, stacklevel=3)
    if answer.obstacle:
        raise InputError([answer.obstacle])
    return Result(question, answer, lambda scenario: advise(scenario, load=False, data=data))


def _about(verb: str, scenario: Scenario, how: How) -> _core.Question:
    question = _core.Question(verb, how.pop("seed", 0))
    question.file, question.text = file_and_text(scenario)
    return question


def run(scenario: Scenario, *, explain: bool = False, first_point: int = 0, **how: Unpack[How]) -> Result:
    """Every point of a scenario in a steady state. `explain`: also the kernels of a step."""
    question = _about("run", scenario, how)
    question.options.kernels = explain
    question.options.first_point = first_point
    return _answer(question, how)


def simulate(scenario: Scenario, *, oracle: bool = True, intervals: bool = True, first_point: int = 0,
             **how: Unpack[How]) -> Result:
    """A workload, served event by event. `oracle`: also with optimal draft lengths; `intervals`: also with steps at the
    ends of their 90 % interval."""
    question = _about("simulate", scenario, how)
    question.options.oracle = oracle
    question.options.intervals = intervals
    question.options.first_point = first_point
    return _answer(question, how)


def plan(scenario: Scenario, *, max_devices: int = 1024, **how: Unpack[How]) -> Result:
    """The cheapest fleet that meets the latency targets of a workload. `missed` if there is none."""
    if not 1 <= max_devices <= 100_000:
        raise ValueError("max_devices: must be from 1 to 100000")
    question = _about("plan", scenario, how)
    question.options.most_devices = max_devices
    return _answer(question, how)


def advise(scenario: Scenario, *, load: bool = True, **how: Unpack[How]) -> Result:
    """The best method by batch and load, with reasons. `load`: also the load up to which it pays."""
    question = _about("advise", scenario, how)
    question.options.load = load
    return _answer(question, how)


def papers(names: Sequence[str] | None = None, **how: Unpack[How]) -> Result:
    """The tables of papers, predicted cell by cell; default: all papers."""
    known = _core.paper_names()
    question = _core.Question("papers", how.pop("seed", 0))
    question.papers = list(known if names is None else names)
    unknown = [name for name in question.papers if name not in known]
    if unknown:
        raise InputError([f"{', '.join(unknown)}: is none of {', '.join(known)}"])
    return _answer(question, how)
