#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares predictions with published rows of served speculation.

ROWS is a JSON list of rows with ids; of those that SETUPS names, each speedup, rate and time is predicted by
`draftline run`. A setup holds what a row states, and what is assumed where it states nothing (`assumed`). A row without
an acceptance length gets one from its first figure, and its other figures are predicted (`anchored`). The rows that
cannot be stated are named: requests queue there.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PLAIN = {"name": "autoregressive"}
DATA = Path(__file__).resolve().parents[2] / "data"


def mtp(drafts, **acceptance):
    return {"name": "mtp", "draft_length": drafts, "acceptance": acceptance}


def eagle3(tree=None, drafts=None, **acceptance):
    return {"name": "eagle3", **({"tree": tree} if tree else {"draft_length": drafts}), "acceptance": acceptance}


def own_cache(target, window):
    """Drafts of the target over a cache of their own. As a draft network of the same weights: behind a step whose
    drafts were all accepted, the first pass has two rows per sequence (MagicDec, selfspec_benchmark.py)."""
    network = json.loads((DATA / "transformers" / (target + ".json")).read_text())
    network = {k: v for k, v in network.items() if k != "draftline_source"}
    draft = dict(network, model_type="mistral", architectures=["MistralForCausalLM"], sliding_window=window)
    return {"name": "draft_model", "draft": draft, "shard_draft": True, "draft_length": 2}


def magicdec():
    """The authors' own engine, as the profile of gpt-fast's rows but for what their code says: all sums are NCCL's
    (Engine/StreamingLLM/model.py), and each draft pass plans its attention and is launched like a plain step
    (backend.py: speculate)."""
    profile = json.loads((DATA / "engines/sglang-0.4.json").read_text())
    profile.update(name="magicdec", draft_pass_exposed=profile["step"])
    profile["links"]["all_reduce"]["rules"] = [{"library": "nccl"}]
    return profile


LONG = {"prompt_tokens": 8192, "output_tokens": 1024}
SHORT = {"prompt_tokens": 100, "output_tokens": 166}  # GSM8K
HYBRID_397B = dict(device="rtx-pro-6000", transformer="qwen3.5-397b-a17b", engine="vllm-0.19", tensor_parallel=4,
                   precision={"weights": "bf16", "experts": "nvfp4", "kv_cache": "fp8"}, output_tokens=1024,
                   method=mtp(2, mean_length=2.82),
                   gpu_memory_utilization=0.95, assumed="answers; the cache; memory")
SETUPS = {
    "rtx6k_qwen35_397b_lukealonso_ctx0k": dict(HYBRID_397B, prompt_tokens=16),
    "rtx6k_qwen35_397b_lukealonso_ctx32k": dict(HYBRID_397B, prompt_tokens=32768, largest=64),
    "sgl_qwen36_35ba3b_h200_bf16_ll": dict(device="h200", transformer="qwen3.5-35b-a3b", engine="sglang", **LONG,
                                           method=mtp(3), anchored=True, prompts=True,
                                           assumed="a closed loop, as TTFT does not grow with the batch"),
    "sdb_f1_qwen38b_gsm8k_ngram_k3": dict(device="h100-sxm", transformer="qwen3-8b", engine="vllm-0.10", **SHORT,
                                          method={"name": "prompt_lookup", "draft_length": 3}, anchored=True,
                                          prompts=True),
    "sdb_f2_qwen38b_gsm8k_tree6": dict(
        device="h100-sxm", transformer="qwen3-8b", engine="sglang", **SHORT,
        method=eagle3({"eagle_topk": 2, "num_steps": 3, "num_draft_tokens": 7}), assumed="topk", anchored=True,
        prompts=True),
    "specbundle_llama-4-scout-17b-16e_gsm8k": dict(
        device="h200", transformer="llama-4-scout", engine="sglang", tensor_parallel=4, **SHORT,
        assumed="the number of GPUs, by the plain rate; lengths", prompts=True),
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
        assumed="lengths; the acceptance of vLLM issue 20780", prompts=True),
    "sdb_f2_qwen38b_gsm8k_tree21": dict(
        device="h100-sxm", transformer="qwen3-8b", engine="sglang", **SHORT,
        method=eagle3({"eagle_topk": 4, "num_steps": 3, "num_draft_tokens": 22}, mean_length=2.92), assumed="topk",
        prompts=True),
    "magicdec_t3c_8xa100_llama31_8b_self": dict(
        device="a100-sxm", transformer="llama-3.1-8b", engine=magicdec(), tensor_parallel=8, output_tokens=96,
        method=own_cache("llama-3.1-8b", 512), gpu_memory_utilization=1.0, assumed="host times"),
    "q38_3090_n2": dict(device="rtx-3090", transformer="HYBRID", engine="llama.cpp", precision="q4_k_m",
                        prompt_tokens=650, output_tokens=256, method=mtp(2, mean_length=2.56), assumed="output"),
    "q38_5090_n4": dict(device="rtx-5090", transformer="HYBRID", engine="llama.cpp", precision="q4_k_m",
                        prompt_tokens=650, output_tokens=256, method=mtp(4, mean_length=3.2), assumed="format; output"),
}

def tpot_with_prompts(answer):
    """In a closed loop: other requests' prompts are computed between the steps."""
    steps = answer["inputs"]["output_tokens"] - 1
    return [1e3 * (answer["e2e"]["value"] - answer["ttft"]["value"]) / steps, None, None]


FIGURES = {"tpot_with_prompts": lambda answer, batch: tpot_with_prompts(answer),
           "speedup_with_prompts": lambda answer, batch: [answer["speedup_with_prefill"]["value"], None, None],
           "speedup": lambda answer, batch: [answer["speedup"].get(end) for end in ENDS],
           "tps": lambda answer, batch: [answer["throughput"].get(end) for end in ENDS],
           "tpot_ms": lambda answer, batch: [1e3 * batch / answer["throughput"][end] if end in answer["throughput"] else
                                             None for end in ("value", "high", "low")]}
WITH_PROMPTS = {"tpot_ms": "tpot_with_prompts", "speedup": "speedup_with_prompts"}  # a row that times prompts too
ENDS = ("value", "low", "high")


def points(row, setup):
    """(batch, scenario, published figures) of each point of a row."""
    body = {k: v for k, v in setup.items() if k not in ("assumed", "largest", "anchored", "prompts")}
    for config in row.get("configs", ()):
        shape = ({"drafts": config["steps"]} if config["topk"] == 1 else
                 {"tree": {"eagle_topk": config["topk"], "num_steps": config["steps"],
                           "num_draft_tokens": config["ndraft"]}})
        method = [PLAIN, eagle3(**shape, mean_length=config["accept_len"])]
        yield (row["batch_sizes"][0], dict(body, batch_size=row["batch_sizes"][0], method=method),
               {"speedup_with_prompts": config["speedup"]})
    for i, batch in enumerate(row["batch_sizes"] if "configs" not in row else ()):
        if batch > setup.get("largest", batch):
            continue
        scenario = dict(body, batch_size=batch, method=[PLAIN, json.loads(json.dumps(body["method"]))])
        if "rows" in row:
            scenario["prompt_tokens"] = row["rows"][i][0]
            scenario["method"][1]["acceptance"] = {"mean_length": row["rows"][i][4]}
        published = {f: row[f][i] for f in FIGURES if row.get(f)}
        for figure, with_prompts in WITH_PROMPTS.items() if setup.get("prompts") else ():
            if figure in published:
                published[with_prompts] = published.pop(figure)
        yield batch, scenario, published


def anchored(program, points):
    """All points but the first, with the acceptance length that makes the first's prediction right: a step's time does
    not depend on it."""
    batch, first, published = points[0]
    figure, measured = next(iter(published.items()))
    guess = 1.5
    first["method"][1]["acceptance"] = {"mean_length": guess}
    ratio = measured / FIGURES[figure](predict(program, first), batch)[0]
    length = guess * (1 / ratio if figure.startswith("tpot") else ratio)
    for _, scenario, _ in points[1:]:
        scenario["method"][1]["acceptance"] = {"mean_length": length}
    return points[1:]


def predict(program, scenario):
    """A network or an engine that is given as an object has a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        def written(value, name):
            if not isinstance(value, dict):
                return value
            (Path(folder) / name).write_text(json.dumps(value))
            return str(Path(folder) / name)

        methods = [dict(m, draft=written(m["draft"], "draft.json")) if "draft" in m else m for m in scenario["method"]]
        return run(program, dict(scenario, method=methods, engine=written(scenario["engine"], "engine.json")))


def run(program, scenario):
    done = subprocess.run([program, "run", "-", "--json"], input=json.dumps(scenario), capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    return json.loads(done.stdout)["results"][-1]


def summary(errors):
    ordered = sorted(map(abs, errors))
    return (f"{len(ordered)} figures, median {100 * statistics.median(ordered):.1f} %, P90 "
            f"{100 * ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]:.1f} %, signed "
            f"{100 * statistics.median(errors):+.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, help="JSON file of published rows")
    parser.add_argument("--program", default="build/release/draftline")
    parser.add_argument("--hybrid", required=True, help="config.json of the hybrid network of 27B")
    args = parser.parse_args()
    errors, verdicts, clear, inside, unsaid = {f: [] for f in FIGURES}, [], [], [], []
    for row in json.loads(args.rows.read_text()):
        setup = SETUPS.get(row["id"])
        if setup is None:
            unsaid.append(row["id"])
            continue
        if setup["transformer"] == "HYBRID":
            setup = dict(setup, transformer=args.hybrid)
        rows = list(points(row, setup))
        for batch, scenario, published in anchored(args.program, rows) if setup.get("anchored") else rows:
            answer = predict(args.program, scenario)
            for figure, measured in published.items():
                predicted, low, high = FIGURES[figure](answer, batch)
                errors[figure].append(predicted / measured - 1)
                if low is not None:
                    inside.append(low <= measured <= high)
                if figure.startswith("speedup"):
                    verdicts.append((predicted > 1) == (measured > 1))
                    clear.append((verdicts[-1], not 0.95 <= measured <= 1.05))
                print(f"{row['id']:38s} {batch:5d} {scenario['prompt_tokens']:7d} {figure:8s} "
                      f"{predicted:9.3f} / {measured:9.3f} {100 * (predicted / measured - 1):+6.1f} %")
    for published, all_errors in errors.items():
        if all_errors:
            print(f"{published}: {summary(all_errors)}")
    speedups = [e for f in ("speedup", "speedup_with_prompts") for e in errors[f]]
    print("all speedups: " + summary(speedups))
    far = [right for right, outside in clear if outside]
    print(f"speedups on the right side of 1: {sum(verdicts)} of {len(verdicts)}, {sum(far)} of the {len(far)} beyond "
          f"0.95 to 1.05; inside 90 % intervals: {sum(inside)} of {len(inside)}")
    print("not predicted: " + ", ".join(unsaid), file=sys.stderr)


if __name__ == "__main__":
    main()
