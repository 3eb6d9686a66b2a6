# SPDX-License-Identifier: Apache-2.0
"""The verbs that api/ answers in this process. All take these options:

seed: of arrivals, lengths and acceptance; jobs: threads, on which the answer does not depend; progress: called with
(done, of) by the calling thread, True: a bar of tqdm; data: a folder like draftline.DATA."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from typing import Callable, Iterator, NamedTuple, Optional, Sequence, Union

from . import _core
from ._errors import DraftlineWarning, InputError
from ._result import Result
from ._scenarios import DATA, Scenario, file_and_text

# Python 3.9 evaluates these when typing.get_type_hints() asks for them, so they have no "|".
Progress = Union[None, bool, Callable[[int, int], object]]
Folder = Union[str, "os.PathLike[str]"]


class _How(NamedTuple):
    seed: int
    jobs: int
    progress: Progress
    data: Folder


@contextmanager
def _callback(progress: Progress) -> Iterator[Callable[[int, int], object] | None]:
    if progress is not True:
        yield progress or None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install tqdm; or give a function") from error

    with tqdm() as bar:

        def show(done: int, of: int) -> None:
            bar.total = of
            bar.update(done - bar.n)

        yield show


def _answer(question: _core.Question, how: _How, warns: bool = True) -> Result:
    if not 1 <= how.jobs <= 1024:
        raise ValueError("jobs: must be from 1 to 1024")
    notes: list[str] = []
    try:
        with _callback(how.progress) as callback:
            answer = _core.ask(question, how.data, how.jobs, callback, notes.append)
    finally:
        for note in notes if warns else ():
            warnings.warn(note, DraftlineWarning, stacklevel=3)
    if answer.obstacle:
        raise InputError([answer.obstacle])
    return Result(question, answer, lambda scenario: _advised(scenario, how))


def _advised(scenario: Scenario, how: _How) -> Result:
    """The advice for a verdict about an answer, whose notes were warnings already."""
    question = _about("advise", scenario, how)
    question.options.load = False
    return _answer(question, how._replace(progress=None), warns=False)


def _about(verb: str, scenario: Scenario, how: _How) -> _core.Question:
    question = _core.Question(verb, how.seed)
    question.file, question.text = file_and_text(scenario)
    return question


def run(scenario: Scenario, *, explain: bool = False, first_point: int = 0, seed: int = 0, jobs: int = 1,
        progress: Progress = None, data: Folder = DATA) -> Result:
    """Every point of a scenario in a steady state. `explain`: also the kernels of a step; `first_point`: number of
    first points to skip; `jobs`: threads; `progress`: called with (done, of), True: a bar of tqdm; `data`: a folder like
    draftline.DATA."""
    how = _How(seed, jobs, progress, data)
    question = _about("run", scenario, how)
    question.options.kernels = explain
    question.options.first_point = first_point
    return _answer(question, how)


def simulate(scenario: Scenario, *, oracle: bool = True, intervals: bool = True, first_point: int = 0, seed: int = 0,
             jobs: int = 1, progress: Progress = None, data: Folder = DATA) -> Result:
    """A workload, served event by event. `oracle`: also with optimal draft lengths; `intervals`: also with steps at the
    ends of their 90 % interval; `seed`: of arrivals, lengths and acceptance; `first_point`, `jobs`, `progress`, `data`:
    as in run()."""
    how = _How(seed, jobs, progress, data)
    question = _about("simulate", scenario, how)
    question.options.oracle = oracle
    question.options.intervals = intervals
    question.options.first_point = first_point
    return _answer(question, how)


def plan(scenario: Scenario, *, max_devices: int = 1024, headroom: float = 0.1, seed: int = 0, jobs: int = 1,
         progress: Progress = None, data: Folder = DATA) -> Result:
    """The cheapest fleet that meets the latency targets of a workload, also under a load that is larger by the share
    `headroom`. `missed` if there is none. `seed`: of arrivals, lengths and acceptance; `jobs`, `progress`, `data`: as in
    run()."""
    if not 1 <= max_devices <= 100_000:
        raise ValueError("max_devices: must be from 1 to 100000")
    if not 0 <= headroom <= 9:
        raise ValueError("headroom: must be from 0 to 9")
    how = _How(seed, jobs, progress, data)
    question = _about("plan", scenario, how)
    question.options.most_devices = max_devices
    question.options.headroom = headroom
    return _answer(question, how)


def advise(scenario: Scenario, *, load: bool = True, seed: int = 0, jobs: int = 1, progress: Progress = None,
           data: Folder = DATA) -> Result:
    """The best method by batch and load, with reasons. `load`: also the load up to which it pays; `seed`: of arrivals
    and acceptance; `jobs`, `progress`, `data`: as in run()."""
    how = _How(seed, jobs, progress, data)
    question = _about("advise", scenario, how)
    question.options.load = load
    return _answer(question, how)


def papers(names: Optional[Sequence[str]] = None, *, seed: int = 0, jobs: int = 1, progress: Progress = None,
           data: Folder = DATA) -> Result:
    """The tables of papers, predicted cell by cell; default: all papers. `jobs`, `progress`, `data`: as in run()."""
    known = _core.paper_names()
    question = _core.Question("papers", seed)
    question.papers = list(known if names is None else names)
    unknown = [name for name in question.papers if name not in known]
    if unknown:
        raise InputError([f"{', '.join(unknown)}: is none of {', '.join(known)}"])
    return _answer(question, _How(seed, jobs, progress, data))
