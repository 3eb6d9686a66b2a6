#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face transformers beside draftline on one device: the same shape with random weights, batch, prompt and length,
greedy; eager and compiled. Needs torch and transformers 5, no network: the shape is data/transformers/NAME.json, or a file
where the name has a slash in it. Seconds of a decode step: draftline's mean, transformers' median, after a warm-up; prefill
is left out on both sides. --device cpu tries the tool where no GPU is; its times say little. Exit code 1: a row failed."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def config_of(name):
    from transformers import AutoConfig
    path = name if "/" in name else os.path.join(ROOT, "data", "transformers", name + ".json")
    with open(path) as file:
        shape = json.load(file)  # a config.json, and where it is from
    for key in ("draftline_source", "architectures"):
        shape.pop(key, None)
    return AutoConfig.for_model(shape.pop("model_type"), **shape)


def wait(device):
    import torch
    if device == "cuda":
        torch.cuda.synchronize()


def step_seconds(model, device, batch, prompt, tokens, compiled):
    """Median seconds of a decode step."""
    import torch
    from transformers import StaticCache
    ids = torch.randint(3, model.config.vocab_size, (batch, prompt), device=device)
    cache = StaticCache(config=model.config, max_cache_len=prompt + tokens + 8)  # counts its positions itself

    def forward(token):
        return model(token, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1:].argmax(-1)

    step = forward
    if compiled:
        torch.compiler.reset()
        step = torch.compile(forward, mode="reduce-overhead", fullgraph=True, dynamic=False)
    with torch.no_grad():
        token = forward(ids)  # prefill, and memory for the cache
        seconds = []
        for _ in range(tokens):
            wait(device)
            start = time.perf_counter()
            token = step(token.clone())  # a graph writes its result to the same place each time
            wait(device)
            seconds.append(time.perf_counter() - start)
    warm = seconds[max(4, len(seconds) // 4):]
    return statistics.median(warm)


def ours(options, batch):
    command = [options.draftline, "decode", "--data", os.path.join(ROOT, "data"), "--device", options.device,
               "--transformer", options.transformer, "--prompts", str(batch), "--batch-size", str(batch),
               "--prompt-tokens", str(options.prompt_tokens), "--new-tokens", str(options.new_tokens), "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"failed": str(error)}
    if done.returncode != 0:
        return {"failed": done.stderr.strip()}
    result = json.loads(done.stdout)
    timing = result.get("timing", {})
    if "step_time" not in timing:
        return {"failed": "no step was timed"}
    return {"step_seconds": timing["step_time"]["value"], "timing": timing, "resolved": result["resolved"]}


def theirs(model, options, batch, compiled):
    started = time.perf_counter()
    try:
        seconds = step_seconds(model, options.device, batch, options.prompt_tokens, options.new_tokens, compiled)
    except Exception as error:  # one row less, not the report
        return {"failed": "%s: %s" % (type(error).__name__, error)}
    return {"step_seconds": seconds, "seconds_in_all": time.perf_counter() - started}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draftline", default=os.path.join(ROOT, "build", "draftline"))
    parser.add_argument("--transformer", default="llama-3.1-8b")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--batch-sizes", default="1,64")
    parser.add_argument("--prompt-tokens", type=int, default=128)
    parser.add_argument("--new-tokens", type=int, default=48)
    parser.add_argument("--skip-compiled", action="store_true")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    try:
        import torch
        import transformers
    except ImportError as error:
        sys.exit("%s: torch and transformers are needed" % error)
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no GPU", file=sys.stderr)
        sys.exit(3)

    report = {"transformer": options.transformer,
              "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu", "torch": torch.__version__,
              "transformers": transformers.__version__, "prompt_tokens": options.prompt_tokens,
              "new_tokens": options.new_tokens, "rows": []}
    failed = False

    def put(row, name, outcome):
        nonlocal failed
        failed = failed or "failed" in outcome
        row[name] = outcome
        with open(options.out, "w") as file:  # after each: what follows may take too long
            json.dump(report, file, indent=1)
        print("batch %d: %s %s" % (row["batch_size"], name, "%.3f ms a step" % (1e3 * outcome["step_seconds"])
                                   if "step_seconds" in outcome else outcome["failed"]), flush=True)

    for batch in [int(b) for b in options.batch_sizes.split(",")]:
        report["rows"].append({"batch_size": batch})
        put(report["rows"][-1], "draftline", ours(options, batch))  # first: its memory is given back when it ends
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(options.device):
        model = transformers.AutoModelForCausalLM.from_config(config_of(options.transformer)).eval()
    for name in ["eager"] + ([] if options.skip_compiled else ["compiled"]):  # the slow ones last
        for row in report["rows"]:
            put(row, name, theirs(model, options, row["batch_size"], name == "compiled"))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
