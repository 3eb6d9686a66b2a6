# SPDX-License-Identifier: Apache-2.0
"""The schemas of `draftline schema` agree with the program's readers.

- Every shipped file is valid, and is read by the program.
- Every object of these files has in the schema the keys that its reader knows, and no others. The reader lists them
  where it meets an unknown key.
- Files that are made wrong and that the program refuses are refused by the schema too, but for a few whose mistake is a
  relation between keys; and the schema refuses none that the program reads.
- Every key has a description.

Needs python3-jsonschema; without it the test is skipped.

usage: schema_test.py DRAFTLINE SOURCES"""
import concurrent.futures
import copy
import functools
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    jsonschema = None

SKIPPED = 4
KINDS = ("acceptance", "scenario", "device", "engine", "transformer")
WRONG_OF_KIND = {"scenario": 140, "device": 60, "engine": 60, "transformer": 20, "acceptance": 40}
LEAST_WRONG = 200
MOST_LEFT_TO_THE_PROGRAM = 0.05
UNKNOWN = "zzz"
FIRST = 3  # elements of a list that are looked at


class Schema:
    def __init__(self, text):
        self.root = json.loads(text)
        self.validator = jsonschema.Draft202012Validator(self.root)

    def accepts(self, value, schema=None):
        if schema is None or isinstance(schema, bool):
            return self.validator.is_valid(value) if schema is None else schema
        return jsonschema.Draft202012Validator({"$defs": self.root.get("$defs", {}), **schema}).is_valid(value)

    def parts(self, schema, value, valid):
        """The schemas that apply to a value; `valid`: of alternatives only those that accept it."""
        if not isinstance(schema, dict):
            return
        if "$ref" in schema:
            yield from self.parts(self.root["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, valid)
        yield schema
        for one in schema.get("allOf", []):
            yield from self.parts(one, value, valid)
        for one in schema.get("anyOf", []):
            if not valid or self.accepts(value, one):
                yield from self.parts(one, value, valid)
        if "if" in schema:
            holds = self.accepts(value, schema["if"])
            for branch, when in (("then", holds), ("else", not holds)):
                if when or not valid:
                    yield from self.parts(schema.get(branch, True), value, valid)

    def objects(self, schemas, value, pointer=""):
        """(pointer, object, its schemas) of every object in a value."""
        if isinstance(value, dict):
            yield pointer, value, schemas
            for key, member in value.items():
                below = [s.get("properties", {}).get(key, s.get("additionalProperties", True))
                         for top in schemas for s in self.parts(top, value, True)]
                yield from self.objects(below, member, f"{pointer}/{key}")
        elif isinstance(value, list):
            for i, member in enumerate(value[:FIRST]):
                below = [s["items"] for top in schemas for s in self.parts(top, value, True) if s.get("items")]
                yield from self.objects([s for s in below if self.accepts(member, s)], member, f"{pointer}/{i}")

    def keys(self, schemas, value, valid):
        """The keys that an object may have by its schemas; None if it may have any."""
        keys = {}
        closed = False
        for top in schemas:
            for part in self.parts(top, value, valid):
                closed = closed or part.get("additionalProperties") is False
                if valid and isinstance(part.get("additionalProperties"), dict):
                    return None
                for name, schema in part.get("properties", {}).items():
                    if isinstance(schema, dict) or name not in keys:
                        keys[name] = schema
        return keys if closed else None


class Files:
    """Reads values of a kind with the program, as files."""

    def __init__(self, program, folder):
        self.program, self.folder, self.numbers = program, folder, itertools.count()
        (folder / "trace.csv").write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0,10,5\n1,20,6\n")

    def mistakes(self, kind, value):
        """What the program says of such a file; nothing if it reads it."""
        name = f"schema-test-{next(self.numbers)}"
        scenario = value if kind == "scenario" else copy.deepcopy(SETUP)
        if kind == "acceptance":
            scenario["method"] = {**fitting_method(value), "acceptance": value}
        elif kind != "scenario":
            (self.folder / f"{name}.{kind}.json").write_text(json.dumps(value))
            scenario.update({kind: f"./{name}.{kind}.json", "method": {"name": "autoregressive"}})
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(scenario))
        verb = "simulate" if isinstance(scenario, dict) and "workload" in scenario else "run"
        ran = subprocess.run([self.program, verb, str(file), "--dry-run"], capture_output=True, text=True)
        assert ran.returncode in (0, 2), f"{kind} {value}: exit code {ran.returncode}, {ran.stderr}"
        return ran.stderr.splitlines() if ran.returncode == 2 else []


def fitting_method(acceptance):
    """A method to which an acceptance may belong."""
    ranks = acceptance.get("ranks") if isinstance(acceptance, dict) else None
    lookup = isinstance(acceptance, dict) and "hit_share" in acceptance
    return {"name": "prompt_lookup" if lookup else "medusa" if ranks else "eagle3", "draft_length": 2 if ranks else 3}


def shipped(sources):
    """(kind, file) of every file of these kinds in the repository."""
    for folder in ("scenarios", "tests/golden/scenarios"):
        yield from (("scenario", f) for f in sorted((sources / folder).glob("*.json")))
    yield from (("scenario", sources / "tests/bench" / name) for name in ("plan.json", "sweep.json"))
    for kind in ("device", "engine", "transformer"):
        yield from ((kind, f) for f in sorted((sources / "data" / (kind + "s")).glob("*.json")))
        yield kind, sources / f"tests/predict/data/round_{kind}.json"


SETUP = {"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm-0.24",
         "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}}
ACCEPTANCES = [{"rate": 0.8, "hit_share": 0.5}, {"rates": [0.8, 0.7, 0.6]}, {"per_position": [0.8, 0.5, 0.3]},
               {"mean_length": 2.4}, {"accepted_share": 0.4}, {"trace": "reference/eagle3/code", "borrowed": True}, {"ranks": [[0.6, 0.2], [0.5]]},
               {"table": [{"context": 100, "draft_length": 3, "rates": [0.8, 0.7, 0.6]},
                          {"context": 200, "draft_length": 3, "mean_length": 2}]},
               {"table": [{"draft_length": 3, "accepted_share": 0.5}]}]
SHAPES = {"name": "own", "layers": 4, "hidden": 512, "heads": 8, "kv_heads": 2, "head_dim": 64, "intermediate": 1024,
          "vocabulary": 128256, "tied_embeddings": True, "max_positions": 4096, "gated": True}
EXPERTS = {"count": 16, "per_token": 2, "intermediate": 256, "shared": 256, "dense_layers": 1}
MAMBA = {"heads": 8, "head_dim": 64, "state": 16, "groups": 1, "kernel": 4, "chunk": 256, "format": "fp32"}
DELTA_NET = {"key_heads": 4, "value_heads": 8, "key_dim": 64, "value_dim": 64, "kernel": 4, "column_gates_rank": 64}
POISSON = {"process": "poisson", "rate": "6 /s"}
SERVED = {"workload": {"arrivals": POISSON, "lengths": {"prompt": 800, "output": 100}, "requests": 1000, "warm_up": 10}}


def served(**changes):
    return {**SERVED, "workload": {**SERVED["workload"], **changes}}


LONG = {"acceptance": {"mean_length": 2}}

# Scenarios with what the shipped ones lack, each beside SETUP.
EXAMPLES = [
    {"transformer": {**SHAPES, "experts": EXPERTS}, "expert_parallel": [True, 2], "tensor_parallel": 2,
     "expert_balancedness": 0.8, "expert_exchange": "all_gather",
     "expert_routing": {"topics": "one", "counted": [{"rows": 4, "experts_touched": 5}], "load_cv": 1}},
    {"transformer": {**SHAPES, "experts": EXPERTS},
     "expert_routing": {"experts_touched": 5, "rows": 4, "sequences": 1}},
    {"transformer": {**SHAPES, "window": 128, "full_attention_every": 2}, "name": "n", "question": "q", "note": "t"},
    {"transformer": {**SHAPES, "mamba": MAMBA, "pattern": ["mamba+mlp", "attention+mlp"]}},
    {"transformer": {**SHAPES, "delta_net": DELTA_NET, "pattern": ["delta_net+mlp", "attention+mlp"]}},
    {"precision": [{"weights": ["auto", "fp8"], "draft": "bf16", "attention": "fp8", "experts": "fp8",
                    "lm_head": "bf16", "activations": "bf16", "kv_cache": ["fp8", "auto"],
                    "embedding": "bf16"}, "int4"]},
    {"precision": {"quantization": "fp8", "dtype": "bfloat16", "kv_cache_dtype": "fp8_e4m3"}, "host_speed": [1, 0.5]},
    {"method": [{"name": "eagle3", "tree": {"top_k": 4, "passes": 3, "nodes": [8, 16]}, **LONG}, {"name": "eagle1", **LONG},
                {"name": "eagle2", "tree": {"eagle_topk": 4, "num_steps": 3, "num_draft_tokens": 8}, **LONG}],
     "engine": "sglang"},
    {"method": [{"name": "eagle3", "num_speculative_tokens": [2, 3], "acceptance": {"rate": [0.7, 0.8]}},
                {"name": "medusa", "tree": {"nodes": [[0], [1], [0, 0]]}, **LONG},
                {"name": "medusa", "tree": {"optimal": {"budget": 3}}, "acceptance": {"ranks": [[0.6, 0.2], [0.5]]}}],
     "engine": "sglang"},
    {"enforce_eager": [True, False], "gpu_memory_utilization": 0.8},
    {"method": {"name": "draft_model", "draft": "llama-3.2-1b", "draft_length": 4, "acceptance": {"rate": 0.8},
                "drafter_device": {"device": "l40s", "latency": "50 us", "engine": "vllm", "bandwidth": "10 GB/s"}},
     "cached_prompt_tokens": 100, "cudagraph_mode": ["NONE", "FULL"], "max_cudagraph_capture_size": [512, 1024],
     "async_scheduling": False, "eager_drafter": [True, False], "tf32": True, "moe_backend": ["auto", "triton"]},
    {"method": {"name": "draft_model", "draft": {**SHAPES, "layers": [2, 4]}, "draft_length": 4, "shard_draft": False,
                **LONG},
     "shared_prefix": {"tokens": 100, "groups": 2}, "batch_size": [1, 8], "prompt_tokens": 512,
     "output_tokens": [2, 256]},
    {"transformer": {**SHAPES, "experts": EXPERTS}, "expert_routing": {"overlap": 0.3}},
    served(arrivals={"trace": "trace.csv", "rate_scale": 2}, requests=2, warm_up=0, lengths={
        "trace": "trace.csv", "order": "random", "prompt": {"distribution": "gamma"}}),
    {"engine": "sglang", "disable_overlap_schedule": [True], "data_parallel_attention": 1},
    served(arrivals={"process": "gamma", "rate": ["6 /s", "8 /s"], "cv": 2}, lengths={
        "prompt": {"distribution": "lognormal", "mean": 500, "cv": [0.5, 1]},
        "output": {"distribution": "uniform", "least": 1, "most": 9},
        "shared_prefix": {"tokens": 128, "groups": [2, 4]}}),
    served(arrivals={"process": "on_off", "rate": "6 /s", "on": "10 s", "off": "5 s"}, lengths={
        "prompt": {"distribution": "exponential", "mean": 500},
        "output": {"distribution": "gamma", "mean": 9, "cv": 1}}),
    {**served(arrivals={"process": "closed", "concurrency": [4, 8]}), "policy": {"off_above": [24, 32]},
     "routing": "least_loaded", "replicas": [1, 2], "pipeline_parallel": 1, "replications": 2},
    {**SERVED, "policy": {"draft_length_by_batch_size": {"1": 3, "16": [0, 1]}}, "prices": {"h100-sxm": 2.5},
     "slo": {"ttft_p99": "500 ms", "tpot_mean": "30 ms", "e2e_p99.9": "9 s"}, "devices_per_node": {"h100-sxm": 8}},
    {**SERVED, "policy": {"num_speculative_tokens_per_batch_size": [[1, 15, 3], [16, 64, 0]]}, "devices_per_node": 8,
     "scheduler": {"max_num_seqs": [64, 128], "max_num_batched_tokens": 2048, "chunked_prefill": True, "block_size": 16,
                   "scheduler_recv_interval": [1, 10], "batch_wait_timeout_iters": 20,
                   "batch_wait_max_tokens_ratio": 0.5, "static_batching": False, "reserve_prompts": True, "prefix_caching": False, "kv_blocks": 9000,
                   "gpu_memory_utilization": 0.9, "preemption": "swap", "host_link": "25 GB/s"}},
    {**SERVED, "policy": {"confidence": {"concentration": 2}}, "replicas": 2,
     "disaggregation": {"prefill_replicas": 1, "bandwidth": "50 GB/s", "latency": "1 ms", "tensor_parallel": 1}},
]


def places(value, pointer=()):
    yield pointer
    if isinstance(value, dict):
        for key, member in value.items():
            yield from places(member, (*pointer, key))
    elif isinstance(value, list):
        for i, member in enumerate(value[:FIRST]):
            yield from places(member, (*pointer, i))


def made_wrong(value, rng):
    """A copy with one change, and its description."""
    wrong = copy.deepcopy(value)
    *above, last = rng.choice([p for p in places(value) if p])
    parent = wrong
    for step in above:
        parent = parent[step]
    old = parent[last]
    where = "/" + "/".join(map(str, [*above, last]))
    change = rng.choice(["rename", "delete", "type", "range", "choice"])
    if change == "rename" and isinstance(parent, dict):
        parent[last + "x"] = parent.pop(last)
    elif change == "delete" and isinstance(parent, dict):
        del parent[last]
    elif change == "range" and not isinstance(old, (str, bool, dict, list)):
        parent[last] = rng.choice([-1, 0, 0.5, 1e12, -3.5])
    elif change == "range" and isinstance(old, str) and re.match(r"[\d.]+ ", old):
        parent[last] = rng.choice(["-1", "0"]) + old[old.index(" "):]
    elif change == "choice" and isinstance(old, str):
        parent[last] = old + "q"
    else:
        change = "type"
        parent[last] = rng.choice([v for v in ({"x": 1}, [], True, None, "text", 7, 2.5) if type(v) is not type(old)])
    return wrong, f"{where}: {change}: {json.dumps(old)[:40]}"


def known_keys(lines, root):
    """(pointer of an object, keys that its reader lists beside UNKNOWN)"""
    for line in lines:
        if found := re.search(r"#(\S*)/" + UNKNOWN + r": unknown key; known here: (.*)", line):
            yield found[1].removeprefix(root), set(re.findall(r'"([^"]*)"', found[2]))


def with_unknown(value, pointers):
    asked = copy.deepcopy(value)
    for pointer in pointers:
        one = asked
        for step in pointer.split("/")[1:]:
            one = one[int(step) if isinstance(one, list) else step]
        one[UNKNOWN] = 1
    return asked


def compare_keys(schema, name, value, mistakes, failures, seen, root=""):
    """Every object's keys in the schema are those that its reader lists beside an unknown one. A reader may stop at a
    mistake, so objects that it did not reach have their unknown key alone."""
    objects = {}
    for pointer, one, schemas in schema.objects([schema.root], value):
        here = schema.keys(schemas, one, True)
        if here is not None:
            objects[pointer] = one, here, schema.keys(schemas, one, False)

    def compare(lines):
        for pointer, known in known_keys(lines, root):
            if pointer not in objects:
                continue
            one, here, all_cases = objects.pop(pointer)
            seen.add(frozenset(here))
            asked = {key for key, s in here.items()
                     if key != "$schema" and not (isinstance(s, dict) and s.get("deprecated"))}
            if lacks := known - set(all_cases) - set(one):
                failures.append(f"{name}#{pointer}: the schema lacks {lacks}")
            if more := asked - known:
                failures.append(f"{name}#{pointer}: only the schema has {more}")

    compare(mistakes(with_unknown(value, objects)))
    for pointer in list(objects):
        if pointer in objects and frozenset(objects[pointer][1]) not in seen:
            compare(mistakes(with_unknown(value, [pointer])))


def undescribed(schema, path="#"):
    if isinstance(schema, dict):
        for name, one in schema.get("properties", {}).items():
            if isinstance(one, dict) and not one.get("description") and not re.search("/if$|/contains$", path):
                yield f"{path}/properties/{name}"
        for key, one in schema.items():
            yield from undescribed(one, f"{path}/{key}")
    elif isinstance(schema, list):
        for i, one in enumerate(schema):
            yield from undescribed(one, f"{path}/{i}")


def closed_objects(schema):
    """The keys of each object of a schema that refuses others."""
    if isinstance(schema, dict):
        if schema.get("additionalProperties") is False and schema.get("properties"):
            yield frozenset(schema["properties"])
        of_list = {"type": "array"} in schema.get("if", {}).get("properties", {}).values()  # the keys of all cases
        for key, one in schema.items():
            if not key.endswith(".swept") and not (of_list and key == "then"):
                yield from closed_objects(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from closed_objects(one)


def valid_files(sources):
    """By kind, (name, value)."""
    valid = {kind: [] for kind in KINDS}
    for kind, file in shipped(sources):
        valid[kind].append((str(file.relative_to(sources)), json.loads(file.read_text())))
    valid["scenario"] += [(f"example {i}", {**SETUP, **example}) for i, example in enumerate(EXAMPLES)]
    groups = [{"ranks": 2, "points": [{"message": "1 MiB", "time": "20 us"}]}]
    round_device = dict(valid["device"][-1][1])
    round_device["links"] = {"kind": "measured", "source": "own", "locator": "probe", "groups": groups}
    valid["device"].append(("a device with links of one library", round_device))
    guessed = dict(valid["engine"][-1][1])
    guessed["scheduler"] = {"prompts": "mixed", "kind": "guess", "because": "as others"}
    guessed["step_error"] = guessed["prompt_error"] = {"low": 0.9, "high": 1.2, "kind": "guess", "because": "as others"}
    guessed["links"] = {"fused_all_reduce": {"architectures": ["A"], "library": "nccl", "rank_skew": "1 us",
                                             "rows": 2048, "kind": "guess", "because": "as others"}}
    valid["engine"].append(("an engine whose scheduler, errors and fused all-reduces are guesses", guessed))
    valid["acceptance"] = [(f"acceptance {i}", one) for i, one in enumerate(ACCEPTANCES)]
    return valid


def check_valid(schema, name, value, mistakes, failures):
    if said := mistakes(value):
        failures.append(f"{name}: the program refuses it: {said[0]}")
    if not schema.accepts(value):
        error = jsonschema.exceptions.best_match(schema.validator.iter_errors(value))
        place = "/".join(map(str, error.absolute_path))
        failures.append(f"{name}: the schema refuses it at /{place}: {error.message[:200]}")


def of_each_method(schema):
    """A scenario with each method of the schema."""
    for case in schema.root["$defs"]["method.swept"]["allOf"]:
        for name in case["if"]["properties"]["name"].get("enum", [])[:1]:
            draft = {"draft": "llama-3.2-1b"} if "draft" in case["then"].get("required", []) else {}
            yield f"method {name}", {**SETUP, "method": {"name": name, **draft}}


def check_kind(kind, text, valid, mistakes, pool, failures, left, seen):
    """Returns the number of wrong files that both refuse; those that the program alone refuses are added to `left`."""
    schema, rng = Schema(text), random.Random(kind)
    jsonschema.Draft202012Validator.check_schema(schema.root)
    failures += [f"{kind}: no description: {path}" for path in undescribed(schema.root)]

    def agree(entry):
        name, value = entry
        whole = value if kind == "acceptance" else {"$schema": "./schema.json", **value}
        check_valid(schema, name, whole, mistakes, failures)
        compare_keys(schema, name, value, mistakes, failures, seen, "/method/acceptance" if kind == "acceptance" else "")

    def judge(wrong):
        value, what = wrong
        return schema.accepts(value), mistakes(value), what

    list(pool.map(agree, valid))
    if kind == "scenario":
        for name, value in of_each_method(schema):
            compare_keys(schema, name, value, mistakes, failures, seen)
    failures += [f"{kind}: no file has an object with the keys {sorted(keys)}"
                 for keys in set(closed_objects(schema.root)) - seen]
    small = [entry for entry in valid if len(json.dumps(entry[1])) < 20_000]
    wrong = []
    for _ in range(WRONG_OF_KIND[kind]):
        name, value = rng.choice(small)
        changed, what = made_wrong(value, rng)
        wrong.append((changed, name + what))
    refused = 0
    for accepted, said, what in pool.map(judge, wrong):
        if said and accepted:
            left.append(f"{what}: {said[0]}")
        elif said:
            refused += 1
        elif not accepted:
            failures.append(f"{what}: only the schema refuses it")
    return refused


def main():
    program, sources = sys.argv[1], pathlib.Path(sys.argv[2])
    if jsonschema is None:
        print("skipped: python3-jsonschema is not installed")
        return SKIPPED
    failures, left, refused, seen = [], [], 0, set()
    valid = valid_files(sources)
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(2) as pool:
        files = Files(program, pathlib.Path(temporary))
        for kind in KINDS:
            text = subprocess.run([program, "schema", kind], check=True, capture_output=True, text=True).stdout
            mistakes = functools.partial(files.mistakes, kind)
            refused += check_kind(kind, text, valid[kind], mistakes, pool, failures, left, seen)
    print(f"{refused} wrong files are refused by both; {len(left)} by the program alone:")
    print("\n".join(left))
    if refused < LEAST_WRONG:
        failures.append(f"only {refused} wrong files")
    if len(left) > MOST_LEFT_TO_THE_PROGRAM * refused:
        failures.append(f"{len(left)} wrong files are left to the program")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
