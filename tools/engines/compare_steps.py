#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts the cells of a vllm_steps.py plan with draftline, and prints predictions next to measurements.

    compare_steps.py predict PLAN --devices h100-sxm,h200 [--engine vllm] [--draftline PROGRAM] > FILE.json
    compare_steps.py compare FILE.json RESULTS --device h100-sxm     (a JSONL of vllm_steps.py, or data/measured/..)

A prediction holds the scenario that it is from. Its output length is twice the tokens that a sequence has at the middle
of the timed steps, so that both mean the same context; routing is uniform and independent (expert_routing: overlap and
load_cv 0), as that of random weights. A cell that a scenario cannot express is listed with the reason."""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARM = 4  # as vllm_steps.py: steps after the last prompt that are not timed
NAMES = {"ngram": "prompt_lookup"}


def method_of(engine, folder):
    """draftline's method for vLLM's speculative_config, or the reason why there is none."""
    speculation = engine.get("speculation")
    if "num_speculative_tokens_per_batch_size" in (engine.get("speculation") or {}):
        return None, "run has fixed draft lengths; simulate has them by batch, with a workload in place of a batch"
    if not speculation:
        return {"name": "autoregressive"}, None
    method = {"name": NAMES.get(speculation["method"], speculation["method"]),
              "draft_length": speculation["num_speculative_tokens"],
              "acceptance": {"per_position": speculation["synthetic_acceptance_rates"]}}
    if "drafter" in speculation:
        method["checkpoint"] = os.path.relpath(os.path.join(folder, speculation["drafter"]), ROOT)
    if speculation["method"] == "ngram":
        method["max_ngram"] = speculation["prompt_lookup_max"]
        method["acceptance"]["hit_share"] = 1
    return method, None


def run(scenario, options):
    with tempfile.NamedTemporaryFile("w", suffix=".json", dir=ROOT) as file:  # a checkpoint is relative to the scenario
        json.dump(scenario, file)
        file.flush()
        done = subprocess.run([options.draftline, "run", "--json", "--data", options.data, file.name],
                              capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr.strip() or done.stdout.strip()
    return json.loads(done.stdout), None


def step_of(result):
    names = {"value": "step_ms", "low": "low_ms", "high": "high_ms"}
    time = result["step_time"]
    times = {name: round(1e3 * time[key], 4) for key, name in names.items() if key in time}
    return {**times, "tokens_per_step": result["acceptance_length"]["value"]}


def server_options(engine):
    """The options of a scenario that change how steps run."""
    options = engine.get("options", {})
    graphs = options.get("compilation_config", {})
    return {**{key: options[key] for key in ("enforce_eager", "async_scheduling") if key in options},
            **{key: graphs[key] for key in ("cudagraph_mode",) if key in graphs}}


def front_end_ms(data, profile):
    """The time of a server around its engine, which an engine that is called directly has not."""
    with open(os.path.join(data, "engines", profile + ".json")) as file:
        text = json.load(file).get("front_end", {}).get("value", "0 ms")
    value, unit = text.split()
    return float(value) * {"s": 1e3, "ms": 1, "us": 1e-3}[unit]


def has_experts(name):
    with open(os.path.join(ROOT, "data", "transformers", name + ".json")) as file:
        return "expert" in file.read()


def predict(options):
    with open(options.plan) as file:
        plan = json.load(file)
    folder, groups, head = os.path.dirname(os.path.abspath(options.plan)), [], {}
    for engine in plan["engines"]:
        method, reason = method_of(engine, folder)
        if reason:
            groups.append({"engine": engine["name"], "not_predicted": reason})
            continue
        emitted = 1 + sum(engine.get("speculation", {}).get("synthetic_acceptance_rates", []))
        base = {"device": options.devices.split(","), "transformer": engine["model"], "engine": options.engine,
                "precision": "bf16", "method": method, "gpu_memory_utilization": 0.95, **server_options(engine)}
        if has_experts(engine["model"]):
            base["expert_routing"] = {"overlap": 0, "load_cv": 0}
        for cell in engine.get("steps", []):
            middle = emitted * (1 + WARM + cell.get("steps", 40) / 2)
            scenario = dict(base, batch_size=cell["batches"], prompt_tokens=cell["context"],
                            output_tokens=round(2 * middle))
            answer, reason = run(scenario, options)
            group = {"engine": engine["name"], "kind": "steps", "prompt": cell["context"],
                     "context": round(cell["context"] + middle), "scenario": scenario}
            if reason:
                group["not_predicted"] = reason
            else:
                head = {"commit": answer["commit"], "model": answer["model"],
                        "profile": answer["resolved"]["engine"][0]}
                group["cells"] = [
                    {"device": r["inputs"]["device"], "batch": r["inputs"]["batch_size"],
                     **(step_of(r) if "step_time" in r else {"not_predicted": r.get("error", "no step time")})}
                    for r in answer["results"]]
            groups.append(group)
        for prompt in engine.get("prompts", []):
            scenario = dict(base, batch_size=prompt.get("together", 1), prompt_tokens=prompt["tokens"], output_tokens=2)
            answer, reason = run(scenario, options)
            group = {"engine": engine["name"], "kind": "prompts", "prompt": prompt["tokens"],
                     "together": prompt.get("together", 1), "scenario": scenario}
            if reason:
                group["not_predicted"] = reason
            else:
                around = front_end_ms(options.data, answer["resolved"]["engine"][0].split(",")[0])
                group["cells"] = [{"device": r["inputs"]["device"],
                                   "ttft_ms": round(1e3 * r["ttft"]["value"] - around, 3)}
                                  for r in answer["results"] if "ttft" in r]
            groups.append(group)
    print("{\n" + ",\n".join('"%s": %s' % (k, json.dumps(v)) for k, v in {
        "title": "Predicted before vLLM was measured: " + os.path.relpath(options.plan, ROOT),
        "date": datetime.date.today().isoformat(), **head, "source": "draftline-probe",
        "locator": "tools/engines/compare_steps.py predict; scenarios in place, relative to the repository's root"
    }.items()))
    print(',"groups": [\n' + ",\n".join(json.dumps(g) for g in groups) + "\n]}")


def records_of(path):
    """The lines of vllm_steps.py, or the same made from a file of data/measured."""
    with open(path) as file:
        if not path.endswith(".json"):
            return [json.loads(line) for line in file]
        records = []
        for e in json.load(file)["engines"]:
            length = (e["speculation"] or {}).get("num_speculative_tokens", 0)
            records.append({"kind": "engine", "engine": e["engine"], "model": e["transformer"]})
            records += [{"kind": "steps", "engine": e["engine"], "draft_length": length, **s} for s in e["steps"]]
            records += [{"kind": "prompts", "engine": e["engine"], **p} for p in e.get("prompts", [])]
        return records


def compare(options):
    with open(options.predictions) as file:
        predicted = json.load(file)
    records = records_of(options.results)
    steps, prompts, plain = {}, {}, {}
    for group in predicted["groups"]:
        for cell in group.get("cells", []):
            if cell["device"] == options.device and "not_predicted" not in cell:
                if group["kind"] == "steps":
                    steps[group["engine"], group["prompt"], cell["batch"]] = cell
                else:
                    prompts[group["engine"], group["prompt"], group["together"]] = cell
    models = {r["engine"]: r["model"] for r in records if r["kind"] == "engine"}
    for r in records:  # a network's plain steps, for speedups
        if r["kind"] == "steps" and "step_ms" in r and not r["draft_length"]:
            cell = steps.get((r["engine"], r["prompt"], r["batch"]))
            plain.setdefault((models[r["engine"]], r["prompt"], r["batch"]), (r, cell))
    errors = {}
    print("engine         batch  prompt  context  tok/step   measured  predicted    error  inside  speedup  predicted")
    for r in records:
        if r["kind"] != "steps" or r["prompt"] <= 64 or "step_ms" not in r:
            continue
        cell = steps.get((r["engine"], r["prompt"], r["batch"]))
        line = "%-13s %6d %7d %8.0f %9.2f %7.3f ms" % (r["engine"], r["batch"], r["prompt"], r["context"],
                                                     r["tokens_per_step"], r["step_ms"])
        if cell:
            error = cell["step_ms"] / r["step_ms"] - 1
            errors.setdefault(r["engine"], []).append(error)
            line += " %7.3f ms %+7.1f %% %6s" % (cell["step_ms"], 100 * error,
                                                 "-" if "low_ms" not in cell else
                                                 "yes" if cell["low_ms"] <= r["step_ms"] <= cell["high_ms"] else "no")
            base = plain.get((models[r["engine"]], r["prompt"], r["batch"]))
            if r["draft_length"] and base and base[1]:
                line += " %8.2f %10.2f" % (r["tokens_per_step"] * base[0]["step_ms"] / r["step_ms"],
                                           cell["tokens_per_step"] * base[1]["step_ms"] / cell["step_ms"])
        print(line + ("  (%s)" % r["problem"] if "problem" in r else ""))
    for r in records:
        if r["kind"] == "prompts" and "ttft_ms" in r:
            cell = prompts.get((r["engine"], r["tokens"], r["together"]))
            line = "%-13s %6d prompts of %5d tokens: TTFT %8.2f ms" % (
                r["engine"], r["together"], r["tokens"], r["ttft_ms"])
            if cell:
                error = cell["ttft_ms"] / r["ttft_ms"] - 1
                line += ", predicted %8.2f ms, %+6.1f %%" % (cell["ttft_ms"], 100 * error)
            print(line)
    for engine, found in errors.items():
        print("%-13s %3d steps: median error %.1f %%, largest %.1f %%, mean %+.1f %%" % (
            engine, len(found), 100 * statistics.median(map(abs, found)), 100 * max(map(abs, found)),
            100 * statistics.fmean(found)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("predict")
    verb.add_argument("plan")
    verb.add_argument("--devices", default="h100-sxm")
    verb.add_argument("--engine", default="vllm")
    verb.add_argument("--draftline", default=os.path.join(ROOT, "build", "release", "draftline"))
    verb.add_argument("--data", default=os.path.join(ROOT, "data"))
    verb.set_defaults(run=predict)
    verb = verbs.add_parser("compare")
    verb.add_argument("predictions")
    verb.add_argument("results")
    verb.add_argument("--device", default="h100-sxm")
    verb.set_defaults(run=compare)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    sys.exit(main())
