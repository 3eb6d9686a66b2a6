#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares predictions with served rows of plain decoding, by group of engine, device and network.

The rows are a CSV of aiconfigurator's form (silicon_sample.csv): TTFT and TPOT in ms of a closed loop with `batch_size`
requests (of one rank, where attention is in data parallel). Each prediction is `draftline simulate` of such a loop, with
the profile of the row's version. Rows that a scenario can't express are counted, with the reason, and so are
measurements inside the 90 % intervals of their predictions, where these have one.
"""
import argparse
import collections
import csv
import json
import re
import statistics
import subprocess
import sys
import tempfile
import typing
from pathlib import Path

import aiconfigurator
import inferencex

DEVICES = {"h100_sxm": "h100-sxm", "h200_sxm": "h200", "b200_sxm": "b200", "b300_sxm": "b300", "gb200": "gb200"}
NETWORKS = {
    "DeepSeek-V3": "deepseek-v3", "DeepSeek-R1": "deepseek-r1", "DeepSeek-V3.1-NVFP4": "deepseek-v3",
    "Kimi-K2.5": "kimi-k2", "MiniMax-M2.5": "minimax-m2", "Qwen3-32B": "qwen3-32b", "Qwen3-32B-NVFP4": "qwen3-32b",
    "Llama-3.1-8B-Instruct": "llama-3.1-8b", "Llama-3.1-8B-Instruct-FP8": "llama-3.1-8b",
    "Llama-3.1-70B": "llama-3.1-70b", "Qwen3-235B-A22B-FP8": "qwen3-235b-a22b", "gpt-oss-120b": "gpt-oss-120b",
    "GLM-5": "glm-5", "Qwen3.5-397B-A17B": "qwen3.5-397b-a17b",
}
DENSE = {"qwen3-32b", "llama-3.1-8b", "llama-3.1-70b"}
FORMATS = {"": "bf16", "fp8": "fp8", "fp8_block": "fp8-block", "nvfp4": "nvfp4", "int4_wo": "int4"}
ENGINES = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt-llm"}
NETWORK = "50 GB/s"  # between servers, for each device: 400 Gb/s
ASYNCHRONOUS = (0, 14)  # the first vLLM with asynchronous scheduling by default
FUSED = (0, 5, 8)  # the first SGLang that fuses all-reduces with norms by default


def number(text, default=1):
    return int(float(text)) if text not in ("", None) else default


def of_inferencex(row):
    """Files of gaps repeat rows of InferenceX."""
    return re.match(r"db-dump|source_file=(2026|[^/;]*gap-analysis\.csv)", row["silicon_data_source"]) is not None


def engine(row):
    """The profile for the version of a row; for a row without one, by its date."""
    name = ENGINES[row["backend"]]
    if name == "tensorrt-llm":
        return "tensorrt-llm-1.0" if row["backend_version"].startswith("1.0") else "tensorrt-llm-1.2"
    if name not in ("vllm", "sglang"):
        return name
    version = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", row["backend_version"])
    version = tuple(int(part or 0) for part in version.groups()) if version else None
    date = re.search(r"measured=(\d{4}-\d\d)", row["silicon_data_source"])
    of_2025 = bool(date) and date[1] < "2026-01"
    if name == "sglang":
        return "sglang-0.5" if (version < FUSED if version else of_2025) else "sglang-0.5.9"
    if of_inferencex(row):  # its servers have --async-scheduling
        return "vllm-0.19"
    return "vllm-0.10" if (version < ASYNCHRONOUS if version else of_2025) else "vllm-0.19"


def layers(row, network):
    """Formats of weights, as the checkpoint has them (model_configs of aiconfigurator-core: quantization_config,
    hf_quant_config)."""
    weights, experts = FORMATS[row["gemm_quant_mode"]], FORMATS[row["moe_quant_mode"]]
    if network == "gpt-oss-120b":
        return {}
    if weights == "int4" and network.startswith("kimi"):
        return {"weights": "bf16", "experts": "int4"}
    if weights == "nvfp4" and network.startswith(("minimax", "qwen3.5")):
        return {"weights": "bf16", "experts": "nvfp4"}
    if weights == "nvfp4" and network not in DENSE:
        return {"weights": "nvfp4", "attention": "bf16"}
    if weights == "fp8" and network.startswith("llama"):  # ModelOpt's checkpoints
        return {"weights": "fp8-static"}
    if network.startswith("deepseek") or weights == "fp8" and (
            experts == "fp8_block" or network.startswith(("minimax", "glm", "qwen3"))):
        return {"weights": "fp8-block"}
    return {"weights": weights}


def precision(row, network):
    formats = layers(row, network)
    fp8_cache = inferencex.fp8_cache(row, network) if of_inferencex(row) else aiconfigurator.fp8_cache(row)
    if fp8_cache or network.startswith("llama") and formats["weights"] != "bf16":
        formats["kv_cache"] = "fp8"
    return formats or "auto"


def division(row, role=""):
    """How the servers of a role divide a network: devices, groups of attention, groups of experts."""
    groups = max(1, number(row[role + "attention_dp_size"]))
    return number(row[role + "tp_size"]) * groups, groups, number(row[role + "moe_ep_size"])


def setting(row, networks):
    """The scenario of a row without lengths and batch, or the reason why there is none."""
    apart = row["mode"] != "agg"  # servers for prompts and servers for decoding
    if apart and not row["decode_num_workers"]:
        row = inferencex.separate_servers(row, stated_concurrency(row))
        if row is None:
            return None, "the numbers of servers for prompts and for decoding are not given"
    network = row["model_path"].split("/")[-1]
    name = networks.get(NETWORKS[network], NETWORKS[network])
    scenario = {"device": DEVICES[row["system"]], "transformer": name, "engine": engine(row),
                "precision": precision(row, NETWORKS[network]), "method": {"name": "autoregressive"}}
    devices, groups, experts = division(row, "decode_" if apart else "")
    if not apart and of_inferencex(row):
        if inferencex.has_mtp(row):
            return None, "only a server with MTP was configured so"
        devices, groups, experts = inferencex.division(row, devices, groups, experts, requests_at_a_time(row))
    if devices > 8 and not row["system"].startswith("gb"):
        return None, "several nodes"
    if devices > 1:
        scenario["tensor_parallel"] = devices
    if NETWORKS[network] not in DENSE:
        if experts > 1:
            scenario["expert_parallel"] = True if experts >= devices else experts
        if groups > 1:
            scenario["data_parallel_attention"] = groups
            if apart and groups == devices and experts >= devices:  # DeepEP, NVLink's one-sided copies
                scenario["expert_exchange"] = "all_to_all"
    elif groups > 1:
        return None, "data-parallel attention of a dense network"
    if apart:
        scenario["replicas"] = number(row["decode_num_workers"])
        scenario["disaggregation"] = {"prefill_replicas": number(row["prefill_num_workers"]), "bandwidth": NETWORK}
        prompts = dict(zip(("tensor_parallel", "data_parallel_attention", "expert_parallel"),
                           division(row, "prefill_"), strict=True))
        if tuple(prompts.values()) != (devices, groups, experts):
            if NETWORKS[network] in DENSE:
                prompts = {"tensor_parallel": prompts["tensor_parallel"]}
            else:
                prompts["expert_parallel"] = min(prompts["expert_parallel"], prompts["tensor_parallel"])
            scenario["disaggregation"].update(prompts)
    return scenario, None


def stated_concurrency(row):
    stated = re.search(r"silicon_concurrency=(\d+)", row["silicon_data_source"])
    return int(stated[1]) if stated else None


def requests_at_a_time(row):
    """The concurrency of the whole fleet."""
    if row["mode"] == "agg":
        return number(row["batch_size"]) * max(1, number(row["attention_dp_size"]))
    return stated_concurrency(row) or (number(row["decode_batch_size"]) * number(row["decode_num_workers"])
                                       * max(1, number(row["decode_attention_dp_size"])))


def predict(program, scenario, row, concurrency):
    """The mean TPOT and TTFT of a simulated closed loop like the benchmark's, or the reason why there are none."""
    drawn = of_inferencex(row)
    lengths = {side: {"distribution": "uniform", "least": round(0.8 * number(row[key])), "most": number(row[key])}
               if drawn else number(row[key]) for side, key in (("prompt", "isl"), ("output", "osl"))}
    groups = scenario.get("data_parallel_attention", 1)
    options = (inferencex if drawn else aiconfigurator).options(row, concurrency, groups)
    body = dict(scenario, **options, workload={"arrivals": {"process": "closed", "concurrency": concurrency},
                                               "lengths": lengths, "requests": min(10 * concurrency, 4000)})
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(body, file)
    done = subprocess.run([program, "simulate", file.name, "--json"], capture_output=True, text=True, check=False)
    Path(file.name).unlink()
    if done.returncode != 0 or not done.stdout.strip():
        return None, re.sub(r"^\S*json#", "", (done.stderr.strip().splitlines() or ["no answer"])[-1])
    answer = json.loads(done.stdout)
    ends = answer.get("interval")
    return [Compared(1e3 * answer[figure]["mean"]["value"], float(row[f"silicon_{figure}_ms"]),
                     [1e3 * ends[figure + "_mean"][end] for end in ("low", "high")] if ends else None)
            for figure in ("tpot", "ttft")], ""


class Compared(typing.NamedTuple):
    """A predicted time in ms, the measured one, and the ends of the prediction's 90 % interval."""
    predicted: float
    measured: float
    interval: list[float] | None

    def error(self):
        return self.predicted / self.measured - 1

    def inside(self):
        return self.interval[0] <= self.measured <= self.interval[1]


def summary(compared):
    if not compared:
        return "-"
    errors = [c.error() for c in compared]
    ordered = sorted(abs(e) for e in errors)
    p90 = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    known = [c.inside() for c in compared if c.interval]
    return (f"{100 * statistics.median(ordered):5.1f} {100 * p90:6.1f} {100 * statistics.median(errors):+6.1f} "
            f"{sum(known):4d}/{len(known):<4d}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, help="CSV of served rows")
    parser.add_argument("--program", default="build/release/draftline")
    parser.add_argument("--engine", action="append", default=[], metavar="BACKEND=PROFILE",
                        help="a profile for a backend: vllm=vllm-0.19")
    parser.add_argument("--network", action="append", default=[], metavar="NAME=FILE",
                        help="a config.json for a network that is not shipped")
    parser.add_argument("--only", default="", help="regular expression on 'backend system network format'")
    parser.add_argument("--out", type=Path, help="CSV of all rows with their predictions")
    args = parser.parse_args()
    ENGINES.update(item.split("=", 1) for item in args.engine)
    networks = dict(item.split("=", 1) for item in args.network)
    errors, unsaid, table = collections.defaultdict(lambda: ([], [])), collections.Counter(), []
    for count, row in enumerate(csv.DictReader(args.rows.open(newline=""))):
        label = " ".join([row["backend"], row["system"], row["model_path"].split("/")[-1],
                          row["gemm_quant_mode"] or "bf16"])
        if args.only and not re.search(args.only, label):
            continue
        scenario, why = setting(row, networks)
        if scenario is not None:
            concurrency = requests_at_a_time(row)
            predicted, why = predict(args.program, scenario, row, concurrency)
        if why:
            unsaid[re.sub(r"[0-9.]+ GiB", "x GiB", why)[:100]] += 1
            continue
        tpot, ttft = predicted
        errors[label][0].append(tpot)
        errors[label][1].append(ttft)
        table.append([label, scenario["engine"], scenario.get("tensor_parallel", 1),
                      scenario.get("data_parallel_attention", 1), scenario.get("expert_parallel", 1), concurrency,
                      row["isl"], row["osl"], f"{tpot.measured:.3f}", f"{tpot.predicted:.3f}",
                      f"{ttft.measured:.1f}", f"{ttft.predicted:.1f}"]
                     + [f"{end:.3f}" for c in predicted for end in c.interval or ()])
        if count % 100 == 0:
            print(f"\r{count} rows", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(f"{'group':58s} rows  TPOT: median, P90, signed (%), in 90 %   TTFT: the same")
    pooled = collections.defaultdict(lambda: ([], []))
    for label, (tpot, ttft) in sorted(errors.items()):
        print(f"{label:58s} {len(tpot):4d}  {summary(tpot)}       {summary(ttft)}")
        dense = any(n in label for n in ("Qwen3-32B", "Llama"))
        for key in ("all", "dense" if dense else "mixtures", label.split()[0] + (" dense" if dense else " mixtures")):
            pooled[key][0].extend(tpot)
            pooled[key][1].extend(ttft)
    for key, (tpot, ttft) in sorted(pooled.items()):
        print(f"{key:58s} {len(tpot):4d}  {summary(tpot)}       {summary(ttft)}")
    total = sum(len(t) for t, _ in errors.values())
    print(f"{total} rows predicted, {sum(unsaid.values())} not:")
    for why, count in unsaid.most_common():
        print(f"  {count:5d}  {why}")
    if args.out:
        with args.out.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["group", "version", "devices", "dp", "ep", "batch", "prompt", "output", "tpot",
                             "tpot_predicted", "ttft", "ttft_predicted", "tpot_low", "tpot_high", "ttft_low",
                             "ttft_high"])
            writer.writerows(table)


if __name__ == "__main__":
    main()
