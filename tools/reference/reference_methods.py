# SPDX-License-Identifier: Apache-2.0
"""Methods of the reference target, trained and untrained, and the prompts on which they are compared."""
import json

KINDS = ("code", "chat", "summary", "structured")
LOOKUPS = {"prompt_lookup": {"name": "prompt_lookup", "draft_length": 8},
           "suffix_decoding": {"name": "suffix_decoding"}}
DRAFTS = 4  # of a step, where a method has no number of its own


def prompts_of(folder, kind, number, without=0):
    """Token ids of so many prompts, spread over the file; `without`: none of those that a call for that number has."""
    lines = (folder / (kind + ".jsonl")).read_text().splitlines()

    def spread(of, count):
        return of[::max(1, len(of) // count)][:count]

    if without:
        taken = set(spread(range(len(lines)), without))
        lines = [line for i, line in enumerate(lines) if i not in taken]
    return [json.loads(line)["tokens"] for line in spread(lines, number)]


def trained(folder):
    """Of each drafter in `folder`: its name, its method and the decoder's options, with paths from `folder`."""
    for path in sorted(folder.glob("*/training.json")):
        kind = path.parent.name
        own = "./" + kind
        method = dict({"name": kind.split("-")[0], "draft_length": DRAFTS}, **json.loads(path.read_text())["options"])
        if not (path.parent / "config.json").exists():
            yield kind, method, ["--drafter-weights", own]
        else:
            yield kind, dict(method, **{"draft" if method["name"] == "draft_model" else "checkpoint": own}), []
