# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # The draft length for a server of your own
# A server that speculates counts its accepted drafts by position. `curl http://SERVER/metrics > metrics.txt` saves the
# counters; the file beside this script is an example. The server's GPU does not matter for acceptance.

# %%
import sys
from pathlib import Path

import draftline

metrics = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("metrics.txt")

# %% [markdown]
# The question: your GPU, network, engine and lengths. A list of values gives a result per value.

# %%
scenario = {
    "device": "h100-sxm",
    "transformer": "llama-3.1-8b",
    "engine": "vllm",
    "method": {"name": "eagle3", "draft_length": [1, 2, 3, 4, 5], "acceptance": {"measured": metrics}},
    "prompt_tokens": 1500,
    "output_tokens": 300,
    "batch_size": [1, 16, 64, 128],
}
result = draftline.run(scenario)

# %% [markdown]
# The fastest draft length of each batch, prompts included. In a notebook, `result` alone shows charts.

# %%
fastest = {}
for point in result.to_dict()["results"]:
    batch = point["inputs"]["batch_size"]
    if "speedup_with_prefill" in point:  # else it does not fit
        speedup = point["speedup_with_prefill"]["value"]
        fastest[batch] = max(fastest.get(batch, (0, 0)), (speedup, point["inputs"]["draft_length"]))
for batch, (speedup, length) in fastest.items():
    choice = f"k = {length}" if speedup > 1 else "off"
    print(f"batch {batch:3}: {choice}, requests {speedup:.2f} times as fast as plain decoding")

# %% [markdown]
# The advice weighs all batches, and has the option of the engine.

# %%
print(result.verdict)
print(draftline.advise(scenario, load=False).to_dict()["verdicts"][0]["settings"][0]["command"])
