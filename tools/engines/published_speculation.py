#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares predictions with published rows of served speculation.

ROWS is a JSON list of rows with ids; of those that SETUPS names, each speedup, rate and time is predicted by
`draftline run`. A setup holds what a row states, and what is assumed where it states nothing (`assumed`). The others are
named: their network is not shipped, they do not state the acceptance or the number of GPUs, or requests queue there.
"""
import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

PLAIN = {"name": "autoregressive"}


def mtp(drafts, **acceptance):
    return {"name": "mtp", "draft_length": drafts, "acceptance": acceptance}


def eagle3(tree=None, drafts=None, **acceptance):
    return {"name": "eagle3", **({"tree": tree} if tree else {"draft_length": drafts}), "acceptance": acceptance}


LONG = {"prompt_tokens": 8192, "output_tokens": 1024}
SHORT = {"prompt_tokens": 100, "output_tokens": 166}  # GSM8K
SETUPS = {
    "rtx6k_glm51_nvfp4_ctx16k": dict(
        device="rtx-pro-6000", transformer="glm-5", engine="vllm", tensor_parallel=8, prompt_tokens=16384,
        precision={"weights": "nvfp4", "kv_cache": "fp8"}, output_tokens=256,
        method=mtp(3, per_position=[0.81, 0.54, 0.27]), assumed="output; experts multiplied in 16 bits there"),
    "sgl_glm52_b200_ll": dict(device="b200", transformer="glm-5.2", engine="sglang", tensor_parallel=8, **LONG,
                              precision="fp8-block", method=mtp(5, mean_length=3.5)),
    "sgl_glm51_h200": dict(device="h200", transformer="glm-5", engine="sglang", tensor_parallel=8, prompt_tokens=1000,
                           output_tokens=1000, precision="fp8-block", method=mtp(3, mean_length=3.5), largest=1,
                           assumed="k"),
    "sgl29244_a800_qwen3_8b": dict(
        device="a800-pcie", transformer="qwen3-8b", engine="sglang", **SHORT, assumed="lengths",
        method={"name": "dflash", "draft_length": 15, "acceptance": {"mean_length": 2.8}}),
    "zlab55_b200_qwen3_8b_eagle3": dict(device="b200", transformer="qwen3-8b", engine="sglang", prompt_tokens=100,
                                        output_tokens=303, method=eagle3(drafts=15, mean_length=4.817),
                                        assumed="prompts; the acceptance of concurrency 1"),
    "eagle3_t3_sglang_h100_eagle": dict(
        device="h100-sxm", transformer="llama-3.1-8b", engine="sglang-0.4", prompt_tokens=128, output_tokens=256,
        method={"name": "eagle1", "draft_length": 3, "acceptance": {"mean_length": 2.29}},
        assumed="lengths; the acceptance of vLLM issue 20780"),
    "sdb_f2_qwen38b_gsm8k_tree21": dict(
        device="h100-sxm", transformer="qwen3-8b", engine="sglang", **SHORT,
        method=eagle3({"eagle_topk": 4, "num_steps": 3, "num_draft_tokens": 22}, mean_length=2.92), assumed="topk"),
    "magicdec_t3c_8xa100_llama31_8b_self": dict(
        device="a100-sxm", transformer="llama-3.1-8b", engine="sglang-0.4", tensor_parallel=8, output_tokens=96,
        method={"name": "magicdec_streaming", "draft_length": 2, "budget": 512}, gpu_memory_utilization=1.0,
        assumed="the profile of gpt-fast's rows"),
    "q38_3090_n2": dict(device="rtx-3090", transformer="HYBRID", engine="llama.cpp", precision="q4_k_m",
                        prompt_tokens=650, output_tokens=256, method=mtp(2, mean_length=2.56), assumed="output"),
    "q38_5090_n4": dict(device="rtx-5090", transformer="HYBRID", engine="llama.cpp", precision="q4_k_m",
                        prompt_tokens=650, output_tokens=256, method=mtp(4, mean_length=3.2), assumed="format; output"),
}
FIGURES = {"speedup": lambda answer, batch: [answer["speedup"].get(end) for end in ENDS],
           "tps": lambda answer, batch: [answer["throughput"].get(end) for end in ENDS],
           "tpot_ms": lambda answer, batch: [1e3 * batch / answer["throughput"][end] if end in answer["throughput"] else
                                             None for end in ("value", "high", "low")]}
ENDS = ("value", "low", "high")


def points(row, setup):
    """A scenario for each batch of a row, with its place in the row's lists."""
    for i, batch in enumerate(row["batch_sizes"]):
        if batch > setup.get("largest", batch):
            continue
        body = {k: v for k, v in setup.items() if k not in ("assumed", "largest")}
        method = json.loads(json.dumps(body["method"]))
        if "rows" in row:
            body["prompt_tokens"], method["acceptance"] = row["rows"][i][0], {"mean_length": row["rows"][i][4]}
        yield i, dict(body, batch_size=batch, method=[PLAIN, method] if method != PLAIN else [PLAIN])


def predict(program, scenario):
    done = subprocess.run([program, "run", "-", "--json"], input=json.dumps(scenario), capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    return json.loads(done.stdout)["results"][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, help="JSON file of published rows")
    parser.add_argument("--program", default="build/release/draftline")
    parser.add_argument("--hybrid", required=True, help="config.json of the hybrid network of 27B")
    args = parser.parse_args()
    errors, verdicts, inside, unsaid = {f: [] for f in FIGURES}, [], [], []
    for row in json.loads(args.rows.read_text()):
        setup = SETUPS.get(row["id"])
        if setup is None:
            unsaid.append(row["id"])
            continue
        if setup["transformer"] == "HYBRID":
            setup = dict(setup, transformer=args.hybrid)
        for i, scenario in points(row, setup):
            answer = predict(args.program, scenario)
            for published, read in FIGURES.items():
                if not row.get(published):
                    continue
                measured = row[published][i]
                predicted, low, high = read(answer, row["batch_sizes"][i])
                errors[published].append(predicted / measured - 1)
                if low is not None:
                    inside.append(low <= measured <= high)
                if published == "speedup":
                    verdicts.append((predicted > 1) == (measured > 1))
                print(f"{row['id']:38s} {row['batch_sizes'][i]:5d} {scenario['prompt_tokens']:7d} {published:8s} "
                      f"{predicted:9.3f} / {measured:9.3f} {100 * (predicted / measured - 1):+6.1f} %")
    for published, all_errors in errors.items():
        if all_errors:
            ordered = sorted(map(abs, all_errors))
            print(f"{published}: {len(ordered)} figures, median {100 * statistics.median(ordered):.1f} %, P90 "
                  f"{100 * ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]:.1f} %, signed "
                  f"{100 * statistics.median(all_errors):+.1f} %")
    print(f"speedups on the right side of 1: {sum(verdicts)} of {len(verdicts)}; inside 90 % intervals: "
          f"{sum(inside)} of {len(inside)}")
    print("not predicted: " + ", ".join(unsaid), file=sys.stderr)


if __name__ == "__main__":
    main()
