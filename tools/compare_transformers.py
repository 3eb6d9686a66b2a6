#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face transformers beside draftline on one GPU: the same shape with random weights, batch, prompt and length, greedy;
eager and compiled. Needs torch and transformers, no network: the shape is data/transformers/NAME.json. Times are medians of
whole decode steps after a warm-up; prefill is left out on both sides."""
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
    with open(os.path.join(ROOT, "data", "transformers", name + ".json")) as file:
        shape = json.load(file)  # a config.json, and where it is from
    for key in ("draftline_source", "architectures"):
        shape.pop(key, None)
    return AutoConfig.for_model(shape.pop("model_type"), **shape)


def step_seconds(model, batch, prompt, tokens, compiled):
    """Median seconds of a decode step."""
    import torch
    from transformers import StaticCache
    device = "cuda"
    ids = torch.randint(3, model.config.vocab_size, (batch, prompt), device=device)
    cache = StaticCache(config=model.config, max_batch_size=batch, max_cache_len=prompt + tokens + 8, device=device,
                        dtype=torch.bfloat16)
    position = torch.arange(prompt, device=device)

    def forward(token, at):
        return model(token, past_key_values=cache, cache_position=at, use_cache=True).logits[:, -1:].argmax(-1)

    step = torch.compile(forward, mode="reduce-overhead", fullgraph=True) if compiled else forward
    with torch.inference_mode():
        token = forward(ids, position)
        seconds = []
        for i in range(tokens):
            at = torch.tensor([prompt + i], device=device)
            torch.cuda.synchronize()
            start = time.perf_counter()
            token = step(token.clone(), at)
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - start)
    warm = seconds[max(4, len(seconds) // 4):]
    return statistics.median(warm)


def ours(draftline, name, batch, prompt, tokens):
    command = [draftline, "decode", "--device", "cuda", "--transformer", name, "--prompts", str(batch), "--batch-size",
               str(batch), "--prompt-tokens", str(prompt), "--new-tokens", str(tokens), "--json"]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return {"failed": done.stderr.strip()}
    return {"seconds": time.perf_counter() - start, "result": json.loads(done.stdout)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draftline", default=os.path.join(ROOT, "build", "draftline"))
    parser.add_argument("--transformer", default="llama-3.1-8b")
    parser.add_argument("--batch-sizes", default="1,64")
    parser.add_argument("--prompt-tokens", type=int, default=128)
    parser.add_argument("--new-tokens", type=int, default=48)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    try:
        import torch
        import transformers
    except ImportError as error:
        sys.exit("%s: torch and transformers are needed" % error)
    if not torch.cuda.is_available():
        print("no GPU", file=sys.stderr)
        sys.exit(3)

    report = {"transformer": options.transformer, "device": torch.cuda.get_device_name(), "torch": torch.__version__,
              "transformers": transformers.__version__, "prompt_tokens": options.prompt_tokens,
              "new_tokens": options.new_tokens, "rows": []}
    batches = [int(b) for b in options.batch_sizes.split(",")]
    for batch in batches:  # ours first: its memory is given back when it ends
        report["rows"].append({"batch_size": batch, "draftline": ours(
            options.draftline, options.transformer, batch, options.prompt_tokens, options.new_tokens)})
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config_of(options.transformer)).eval()
    for row in report["rows"]:
        for compiled in (False, True):
            name = "compiled" if compiled else "eager"
            try:
                row[name] = {"step_seconds": step_seconds(model, row["batch_size"], options.prompt_tokens,
                                                          options.new_tokens, compiled)}
            except Exception as error:  # one row less, not the report
                row[name] = {"failed": "%s: %s" % (type(error).__name__, error)}
            with open(options.out, "w") as file:
                json.dump(report, file, indent=1)
    for row in report["rows"]:
        print("batch %d:" % row["batch_size"],
              ", ".join("%s %s" % (n, row[n].get("step_seconds", row[n].get("failed"))) for n in ("eager", "compiled")))


if __name__ == "__main__":
    main()
