#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts the serving that llama_cpp_steps.py measures from the steps that it measures, and compares both.

usage: compare_llama_cpp.py predict FOLDER STEPS.json.. > predicted.json
       compare_llama_cpp.py compare predicted.json MEASURED.json..

FOLDER holds device.json and a folder with config.json for each network, named by the model's file without its format:
smollm2-135m-q4_1.gguf is network smollm2-135m in q4_1. `predict` fits a profile to each file's steps behind one context
with draftline calibrate --served, and prices each method and draft length; a speedup then is tokens per step x plain step / step, with
the tokens that were measured. Set DRAFTLINE to the program (default: build/release/draftline)."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("DRAFTLINE", "build/release/draftline")
METHODS = {"draft": "draft_model", "ngram": "prompt_lookup"}
LENGTHS, RATE, OUTPUT = [1, 2, 3, 4, 6, 8], 0.8, 64


def network_of(file):
    network, _, precision = file.removesuffix(".gguf").rpartition("-")
    return network, {"f16": "fp16"}.get(precision, precision)


def draftline(*arguments, text=None):
    done = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit("draftline %s: %s" % (" ".join(arguments), done.stderr))
    return done.stdout


def predict(folder, files):
    folder, cells = os.path.abspath(folder), []
    for file in files:
        with open(file) as opened:
            measured = json.load(opened)
        network, precision = network_of(measured["model"])
        with tempfile.TemporaryDirectory() as scratch:
            profile, part = os.path.join(scratch, "profile.json"), os.path.join(scratch, "steps.json")
            for context in sorted({s["context"] for s in measured["steps"] if s["network"] == "target"}):
                with open(part, "w") as opened:
                    json.dump({"engine": "llama.cpp", "steps": [s for s in measured["steps"]
                                                                if s["context"] == context]}, opened)
                draftline("calibrate", "--served", part, "--engine", "llama.cpp-cpu", "--device",
                          os.path.join(folder, "device.json"), "--transformer", os.path.join(folder, network),
                          "--precision", precision, "--engine-out", profile)
                methods = [{"name": "autoregressive"}]
                for k in LENGTHS:
                    for method in METHODS:
                        if method == "draft" and not measured["draft"]:
                            continue
                        one = {"name": METHODS[method], "draft_length": k, "acceptance": {"rate": RATE}}
                        if method == "draft":
                            one["draft"] = os.path.join(folder, network_of(measured["draft"])[0])
                        methods.append(one)
                scenario = os.path.join(scratch, "scenario.json")
                with open(scenario, "w") as opened:
                    json.dump({"device": os.path.join(folder, "device.json"), "engine": profile, "method": methods,
                               "transformer": os.path.join(folder, network),
                               "precision": {"weights": precision, "draft": network_of(measured["draft"] or "-q8_0")[1]},
                               "prompt_tokens": context, "output_tokens": OUTPUT}, opened)
                points = json.loads(draftline("run", scenario, "--json"))["results"]
                for method, point in zip(methods, points):
                    name = next((n for n, m in METHODS.items() if m == method["name"]), "plain")
                    cells.append({"model": measured["model"], "method": name, "k": method.get("draft_length", 0),
                                  "context": context, "step_ms": round(1e3 * point["step_time"]["value"], 3)})
    print(json.dumps({"rate": RATE, "cells": cells}, indent=0))


def compare(file, files):
    with open(file) as opened:
        predicted = {(c["model"], c["method"], c["k"], c["context"]): c["step_ms"]
                     for c in json.load(opened)["cells"]}
    errors, wrong = {}, []
    print("model                      method  k  context  tok/step  predicted  measured  error")
    for name in files:
        with open(name) as opened:
            measured = json.load(opened)
        model = measured["model"]
        for c in measured["serving"]:
            step = predicted.get((model, c["method"], c["k"], c["context"]))
            if step is None or c["drafted_per_step"] < 0.5:  # a look-up that drafts nothing
                continue
            speedup = c["tokens_per_step"] * predicted[model, "plain", 0, c["context"]] / step
            error = speedup / c["speedup"] - 1
            errors.setdefault(model, []).append(abs(error))
            if abs(c["speedup"] - 1) > 0.1 and (speedup > 1) != (c["speedup"] > 1):
                wrong.append((model, c["method"], c["k"], c["context"]))
            print("%-26s %-6s %2d %8d %9.2f %10.2f %9.2f %+5.1f %%" % (
                model, c["method"], c["k"], c["context"], c["tokens_per_step"], speedup, c["speedup"], 100 * error))
    for model, of in [*errors.items(), ("all", [e for some in errors.values() for e in some])]:
        of = sorted(of)
        print("%s: %d speedups, median %.1f %%, P90 %.1f %%, largest %.1f %%" % (
            model, len(of), 100 * statistics.median(of), 100 * of[min(len(of) - 1, int(0.9 * len(of)))], 100 * of[-1]))
    print("on the wrong side of 1, beyond 0.9 to 1.1:", wrong or "none")


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("predict", "compare"):
        sys.exit(__doc__)
    (predict if sys.argv[1] == "predict" else compare)(sys.argv[2], sys.argv[3:])
