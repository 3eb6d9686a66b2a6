# SPDX-License-Identifier: Apache-2.0
"""The program of the package that is tested, as a shell would run it."""

import subprocess
import warnings
from pathlib import Path

import draftline
from draftline._program import PROGRAM

PACKAGE = Path(draftline.__file__).parent
SCENARIOS = PACKAGE / "share" / "draftline" / "scenarios"


def program(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL)


def quietly(ask, *arguments, **options):
    """Answers without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", draftline.DraftlineWarning)
        return ask(*arguments, **options)


def question(**more):
    return {"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "prompt_tokens": 200,
            "output_tokens": 60,
            "method": [{"name": "autoregressive"}, {"name": "eagle3", "draft_length": [1, 3], "acceptance": {"rate": 0.7}}],
            **more}


def served(requests, **more):
    return question(workload={"arrivals": {"process": "poisson", "rate": "4 /s"}, "requests": requests},
                    slo={"ttft_p99": "10 s"}, **more)
