#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/fixtures/drafters/gemma4_assistant: a small random assistant of the network in tests/fixtures/gemma4, as
transformers saves it, and what it drafts after texts of that network, by transformers' own code.

Needs the newer versions that tools/make_fixtures.py names, but transformers 5.24.0: before it no network could say its
keys and values to an assistant. Use:
    python tools/make_assistant_fixture.py [FOLDER]

The folder holds what those of tools/make_drafter_fixtures.py hold: for every output token p and level j the logarithm
of the probability of token p + 1 + j and its rank among the drafter's candidates, where the tokens between are the
target's. Computed in fp64 and in fp32, as there.
"""
import contextlib
import json
import pathlib
import shutil
import sys
from unittest import mock

import torch
import transformers
from fixture_networks import COMMON, NEWER, USED
from make_fixtures import OnlyDouble, randomise

PINNED = NEWER | {"transformers": "5.24.0"}
PLAIN = dict(attn_implementation="eager")
DEPTH, NEW_TOKENS, LEAST_MARGIN = 4, 40, 3e-5
SEED = 20261127
ROOT = pathlib.Path(__file__).parent.parent / "tests/fixtures"
HEADS = dict(num_attention_heads=4, num_key_value_heads=2, num_global_key_value_heads=1, head_dim=8, global_head_dim=16)
ROPE = dict(full_attention=dict(rope_type="proportional", rope_theta=900.0, partial_rotary_factor=0.25),
            sliding_attention=dict(rope_type="default", rope_theta=100.0))


class TooClose(Exception):
    pass


@contextlib.contextmanager
def all_in(dtype):
    """The library asks for fp32 by name in norms, softmax and rope: within this it gets `dtype`."""
    if dtype == torch.float32:
        yield
        return
    with mock.patch.object(torch, "float32", dtype), mock.patch.object(torch, "float", dtype), \
            mock.patch.object(torch.Tensor, "float", torch.Tensor.double):
        torch.set_default_dtype(dtype)
        try:
            with OnlyDouble():
                yield
        finally:
            torch.set_default_dtype(torch.float32)


def loaded(make, folder, dtype):
    stored = make.from_pretrained(folder, dtype=dtype, **PLAIN).state_dict()
    with all_in(dtype):
        config = transformers.AutoConfig.from_pretrained(folder, **PLAIN)
        config.dtype = None
        network = make(config)
        network.load_state_dict(stored)
        return network.eval()


def continued(target, prompt, tokens):
    text = list(prompt)
    for _ in range(tokens):
        text.append(target(torch.tensor([text]), use_cache=False).logits[0, -1].argmax().item())
    return text[len(prompt):]


def levels(target, assistant, text, root):
    """The logits of each level where the root is text[root]."""
    out = target.model(torch.tensor([text[:root]]), use_cache=False, return_shared_kv_states=True)
    state, position = out.last_hidden_state[:, -1:], torch.tensor([[root]])
    for j in range(DEPTH):
        token = target.get_input_embeddings()(torch.tensor([[text[root + j]]]))
        drafted = assistant(inputs_embeds=torch.cat([token, state], dim=-1), position_ids=position,
                            attention_mask=torch.ones(1, root, dtype=torch.long),
                            shared_kv_states=out.shared_kv_states, use_cache=False)
        state = drafted.last_hidden_state
        yield drafted.logits[0, -1]


def drafted(folder, prompts, texts, dtype):
    target = loaded(transformers.Gemma4ForCausalLM, ROOT / "gemma4", dtype)
    assistant = loaded(transformers.Gemma4AssistantForCausalLM, folder, dtype)
    logs, ranks, margin = [], [], float("inf")
    with all_in(dtype), torch.no_grad():
        if texts is None:
            texts = [continued(target, p, NEW_TOKENS + DEPTH) for p in prompts]
        for prompt, output in zip(prompts, texts):
            logs.append([]), ranks.append([])
            for p in range(NEW_TOKENS):
                logs[-1].append([]), ranks[-1].append([])
                for j, logits in enumerate(levels(target, assistant, list(prompt) + output, len(prompt) + p)):
                    own = output[p + 1 + j] if p + 1 + j < len(output) else 0
                    others = torch.cat([logits[:own], logits[own + 1:]])
                    margin = min(margin, (others - logits[own]).abs().min().item())
                    logs[-1][-1].append((logits[own] - torch.logsumexp(logits, 0)).item())
                    ranks[-1][-1].append(int((logits > logits[own]).sum()))
    return texts, logs, ranks, margin


def make(folder, attempt):
    if folder.exists():
        shutil.rmtree(folder)
    generator = torch.Generator().manual_seed(SEED + attempt)
    text_config = transformers.Gemma4TextConfig(
        hidden_size=24, intermediate_size=40, num_hidden_layers=3, hidden_size_per_layer_input=0,
        vocab_size_per_layer_input=0, num_kv_shared_layers=3, attention_k_eq_v=True, sliding_window=7,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"], rope_parameters=ROPE, **HEADS, **COMMON)
    network = transformers.Gemma4AssistantForCausalLM(
        transformers.Gemma4AssistantConfig(text_config=text_config, backbone_hidden_size=32))
    randomise(network, generator)
    network.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    prompts = [torch.randint(3, COMMON["vocab_size"], (n,), generator=generator).tolist() for n in (21, 5)]
    texts, logs, ranks, margin = drafted(folder, prompts, None, torch.float64)
    if margin < LEAST_MARGIN:
        raise TooClose
    _, of_single, _, _ = drafted(folder, prompts, texts, torch.float32)
    error = max(abs(a - b) for x, y in zip(logs, of_single) for u, v in zip(x, y) for a, b in zip(u, v))
    record = dict(seed=SEED + attempt, made_by="tools/make_assistant_fixture.py", versions=USED,
                  method="gemma4_assistant", largest_error_of_fp32=error, prompts=prompts, texts=texts, ranks=ranks,
                  logarithms=logs)
    (folder / "expected.json").write_text(
        "{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in record.items()) + "\n}\n")
    found = sum(r < 16 for p in ranks for q in p for r in q)
    print(f"gemma4_assistant: fp32 against fp64: {error:.1e}, {found} tokens among the 16 best")


def main():
    if USED != PINNED:
        sys.exit(f"pinned versions are {PINNED}, installed are {USED}")
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "drafters/gemma4_assistant"
    for attempt in range(100):
        try:
            return make(folder, attempt)
        except TooClose:
            continue


if __name__ == "__main__":
    main()
