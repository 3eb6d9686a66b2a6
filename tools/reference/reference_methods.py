# SPDX-License-Identifier: Apache-2.0
"""Methods of the reference target, trained and untrained, and the prompts on which they are compared."""
import collections
import json

KINDS = ("code", "chat", "summary", "structured")
LOOKUPS = {"prompt_lookup": {"name": "prompt_lookup", "draft_length": 8},
           "suffix_decoding": {"name": "suffix_decoding"}}
DRAFTS = 4  # of a step, where a method has no number of its own


def spread(of, count):
    """So many of `of`: at equal distances if these are at most the half, otherwise every second and some between them."""
    if count >= len(of):
        return of
    if 2 * count <= len(of):
        return of[::len(of) // count][:count] if count else []
    even = set(range(0, len(of), 2))
    picked = sorted(even.union(spread(range(1, len(of), 2), count - len(even))))
    return [of[i] for i in picked]


def prompts_of(folder, kind, number, without=0):
    """Token ids of so many prompts, spread over the file; `without`: none of those that a call for that number has."""
    lines = (folder / (kind + ".jsonl")).read_text().splitlines()

    if without:
        taken = set(spread(range(len(lines)), without))
        lines = [line for i, line in enumerate(lines) if i not in taken]
    return [json.loads(line)["tokens"] for line in spread(lines, number)]


Trained = collections.namedtuple("Trained", "name method options most target")


def named(kind, options, drafts):
    """A drafter's method, with so many drafts if it has no number or block of its own."""
    method = dict({"name": kind.split("-")[0], "draft_length": drafts}, **options)
    if "block" in options:
        del method["draft_length"]
    return method


def trained(folder):
    """The drafters in `folder`: a name, its method, the decoder's options, with paths from `folder`, the most drafts of
    which it has weights (None if it has no limit), and the folder of a target of its own (None if it has none)."""
    for path in sorted(folder.glob("*/training.json")):
        kind = path.parent.name
        own = json.loads(path.read_text())["options"]
        method = named(kind, own, DRAFTS)
        if (path.parent / "config.json").exists():
            more = []
            method["draft" if method["name"] == "draft_model" else "checkpoint"] = "./" + kind
        else:
            more = ["--drafter-weights", "./" + kind]
        target = path.parent / "target"
        if target.exists() and not any(path.parent.glob("model*.safetensors")):
            more = []  # it has no weights but those of its target
        yield Trained(kind, method, more, own.get("draft_length"), target.resolve() if target.exists() else None)
