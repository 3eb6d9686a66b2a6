# SPDX-License-Identifier: Apache-2.0
"""What speculative decoding buys: throughput, latency and memory, predicted before the GPU is bought.

    import draftline
    result = draftline.run("when_to_switch_off")
    result.verdict, result.to_pandas()

Scenarios are files, dictionaries or names of draftline.scenarios(). The answers are those of the program, `python -m
draftline`, byte for byte in JSON.
"""

from ._core import commit as __commit__
from ._core import version as __version__
from ._errors import Bug, DeviceError, DraftlineWarning, Error, InputError, Mistake, OutputError
from ._program import Decoded, calibrate, calibrate_served, check, decode
from ._questions import advise, papers, plan, run, simulate
from ._result import Document, Result
from ._scenarios import DATA, scenario, scenarios, schema

__all__ = [
    "Bug", "DATA", "Decoded", "DeviceError", "Document", "DraftlineWarning", "Error", "InputError", "Mistake",
    "OutputError", "Result", "__commit__", "__version__", "advise", "calibrate", "calibrate_served", "check", "decode",
    "papers", "plan", "run", "scenario", "scenarios", "schema", "simulate",
]
