# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # A drafter of your own against EAGLE-3
# A drafter's cost follows from its shape, so that it can be priced before it is trained. Its acceptance is assumed, from
# pessimistic to optimistic.

# %%
import draftline

mine = {
    "name": "draft_model",
    "draft": {"name": "my-drafter", "layers": 2, "hidden": 2048, "heads": 16, "kv_heads": 4, "intermediate": 8192,
              "vocabulary": 128256},
    "draft_length": 3,
    "acceptance": {"rate": [0.5, 0.6, 0.7, 0.8, 0.9]},
}
eagle3 = {"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.8, 0.72, 0.68]}}
result = draftline.run({
    "device": "h100-sxm",
    "transformer": "llama-3.1-8b",
    "engine": "vllm",
    "method": [mine, eagle3],
    "prompt_tokens": 1500,
    "output_tokens": 300,
    "batch_size": [1, 32, 128],
})

# %% [markdown]
# Which acceptance makes it as fast as EAGLE-3?

# %%
speedups = {"eagle3": {}, "draft_model": {}}
for point in result.to_dict()["results"]:
    inputs = point["inputs"]
    rates = speedups[inputs["method"]].setdefault(inputs["batch_size"], {})
    rates[inputs["acceptance"].get("rate")] = point["speedup"]["value"]

for batch, by_rate in speedups["draft_model"].items():
    (rival,) = speedups["eagle3"][batch].values()
    enough = [rate for rate, speedup in by_rate.items() if speedup >= rival]
    needs = f"needs a rate of {min(enough)}" if enough else "is slower at every rate"
    print(f"batch {batch:3}: EAGLE-3 decodes {rival:.2f} times as fast as plain decoding; my drafter {needs}")

# %% [markdown]
# A step's time goes to drafting, verification, commit, communication and the CPU.

# %%
for point in result.to_dict()["results"]:
    if point["inputs"]["batch_size"] == 32 and point["inputs"]["acceptance"].get("rate") in (None, 0.7):
        parts = {name: f"{1e3 * time['value']:.2f} ms" for name, time in point["breakdown"].items()}
        print(point["inputs"]["method"], parts)
