#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/fixtures/drafters: small random drafters in the forms in which drafters are published, and what each
drafts after texts of its target, by a reference of its own.

Needs Python 3.11 and exactly these versions (a virtual environment outside the repository):
    pip install safetensors==0.6.2 numpy==2.2.6
Use:
    python tools/make_drafter_fixtures.py [FOLDER [DRAFTER ..]]
default: all, in tests/fixtures/drafters beside this script's folder

Each folder holds config.json, the weights, and expected.json: the target's greedy texts, and for every output token p
and level j the drafter's logarithm of the probability of token p + 1 + j, and its rank among the drafter's candidates,
where the tokens between are the target's (null: the drafter does not know the token); of drafters that predict all
tokens in one pass, the drafts behind every output token. Everything is computed in fp64
on the stored weights; the largest error of the same computation in fp32 is written too: what another correct fp32
implementation may differ by is of that order. No two logits that decide a token or a rank are closer than 3e-5, which
some seeds do not give: the first that does is taken.
"""
import json
import pathlib
import shutil
import sys

import numpy as np
import safetensors
from drafter_reference import (DEPTH, LEAST_MARGIN, Block, DFlash2, Domino, DSpark, Eagle, Eagle3, Medusa, MimoMtp, Mtp,
                               PEagle, QwenMtp, Target, TooClose)
from safetensors.numpy import load_file, save_file

PINNED = {"safetensors": "0.6.2", "numpy": "2.2.6"}
SEED = 20251122
NEW_TOKENS = 40
ROOT = pathlib.Path(__file__).parent.parent / "tests/fixtures"


# ---- drafts after texts

def drafted(drafter, prompts, texts):
    """Logarithms of probabilities and ranks, [prompts][positions][levels], None where the drafter lacks the token."""
    logs, ranks, margin = [], [], np.inf
    for prompt, output in zip(prompts, texts):
        text = list(prompt) + output
        logs.append([]), ranks.append([])
        for p, levels in enumerate(drafter.logits_by_level(text, len(prompt))):
            logs[-1].append([]), ranks[-1].append([])
            for j, logits in enumerate(levels):
                at = np.flatnonzero(drafter.ids == output[p + 1 + j])
                if not len(at):
                    logs[-1][-1].append(None), ranks[-1][-1].append(None)
                    continue
                own = logits[at[0]]
                margin = min(margin, np.abs(np.delete(logits, at[0]) - own).min())
                logs[-1][-1].append(float(own - np.log(np.exp(logits - logits.max()).sum()) - logits.max()))
                ranks[-1][-1].append(int((logits > own).sum()))
    return logs, ranks, margin


def expected(make, target_folder, method, prompts):
    double, single = (make(dtype, Target(target_folder, dtype)) for dtype in (np.float64, np.float32))
    texts = [double.t.continued(p, NEW_TOKENS + DEPTH) for p in prompts]
    about = dict(made_by="tools/make_drafter_fixtures.py", versions=PINNED, method=method)
    if hasattr(double, "drafts"):
        of_both = [[[one.drafts(p + o, len(p) + at) for at in range(NEW_TOKENS)] for p, o in zip(prompts, texts)]
                   for one in (double, single)]
        if of_both[0] != of_both[1]:
            raise TooClose
        return about | dict(prompts=prompts, texts=texts, drafts=of_both[0])
    logs, ranks, margin = drafted(double, prompts, texts)
    if margin < LEAST_MARGIN:
        raise TooClose
    of_single = drafted(single, prompts, texts)[0]
    flat = [(a, b) for x, y in zip(logs, of_single) for u, v in zip(x, y) for a, b in zip(u, v) if a is not None]
    return about | dict(largest_error_of_fp32=float(max(abs(a - b) for a, b in flat)), prompts=prompts, texts=texts,
                        ranks=ranks, logarithms=logs)


# ---- weights

def matrix(rng, out, inputs):
    return rng.standard_normal((out, inputs)) * inputs ** -0.5


def norm_weight(rng, n):
    return 1 + 0.2 * rng.standard_normal(n)


def layer_weights(rng, prefix, c, inputs=None, input_norm=True, bias=False):
    hidden, inner, dim = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    q, kv = c["num_attention_heads"] * dim, c["num_key_value_heads"] * dim
    w = {f"self_attn.{letter}_proj.weight": matrix(rng, n, inputs or hidden) for letter, n in zip("qkv", (q, kv, kv))}
    if bias:
        w |= {f"self_attn.{letter}_proj.bias": 0.3 * rng.standard_normal(n) for letter, n in zip("qkv", (q, kv, kv))}
    w |= {"self_attn.o_proj.weight": matrix(rng, hidden, q), "mlp.gate_proj.weight": matrix(rng, inner, hidden),
          "mlp.up_proj.weight": matrix(rng, inner, hidden), "mlp.down_proj.weight": matrix(rng, hidden, inner),
          "post_attention_layernorm.weight": norm_weight(rng, hidden)}
    if input_norm:
        w["input_layernorm.weight"] = norm_weight(rng, hidden)
    return {prefix + k: v for k, v in w.items()}


def loud(weights):
    """Attention that says more than a mask's embedding, so that masks predict different tokens."""
    return {k: 6 * v if k.endswith(("q_proj.weight", "o_proj.weight")) else v for k, v in weights.items()}


# A layer unlike the target's wherever the form lets it be, so that a mix-up shows in a shape or in the values.
LAYER = dict(hidden_size=48, intermediate_size=40, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=4,
             head_dim=8, hidden_act="silu", rms_norm_eps=1e-6, rope_theta=10000.0, max_position_embeddings=256,
             vocab_size=96)


def make_eagle(rng, target):
    config = dict(architectures=["LlamaForCausalLM"], model_type="llama", bias=True, **LAYER)
    w = layer_weights(rng, "layers.0.", LAYER, input_norm=False)
    w |= {"fc.weight": matrix(rng, 48, 96), "fc.bias": 0.3 * rng.standard_normal(48)}
    return config, w | {"embed_tokens.weight": target["model.embed_tokens.weight"]}  # a copy, as EAGLE's files have


def eagle3_weights(rng, prefix, rows):
    w = layer_weights(rng, prefix, LAYER, inputs=96)
    w |= {"fc.weight": matrix(rng, 48, 144), "norm.weight": norm_weight(rng, 48),
          prefix + "hidden_norm.weight": norm_weight(rng, 48), "lm_head.weight": 1.5 * matrix(rng, rows, 48)}
    return w


def make_eagle3(rng, _):
    rows = 40
    config = dict(architectures=["LlamaForCausalLMEagle3"], model_type="llama", draft_vocab_size=rows, **LAYER)
    known = np.sort(rng.choice(96, rows, replace=False))
    return config, eagle3_weights(rng, "midlayer.", rows) | {
        "d2t": (known - np.arange(rows)).astype(np.int64), "t2d": np.isin(np.arange(96), known)}


def make_speculators(rng, _):
    config = dict(architectures=["Eagle3Speculator"], speculators_model_type="eagle3", draft_vocab_size=96,
                  norm_before_residual=True, norm_before_fc=True, norm_output=True, target_hidden_size=None,
                  eagle_aux_hidden_state_layer_ids=[1, 0, 2],
                  transformer_layer_config=dict(model_type="llama", **LAYER))
    return config, eagle3_weights(rng, "layers.0.", 96) | {
        "input_norm.weight": norm_weight(rng, 144), "embed_tokens.weight": 0.5 * rng.standard_normal((96, 48))}


def make_p_eagle(rng, _):
    """As Amazon publishes them: two layers, a mask's states before the join, and a part of the vocabulary."""
    config, w = make_eagle3(rng, _)
    config |= dict(num_hidden_layers=2, ptd_token_id=7)
    w |= layer_weights(rng, "layers.1.", LAYER)
    return config, loud(w) | {"mask_hidden": rng.standard_normal((1, 1, 144))}


def make_parallel_speculators(rng, _):
    config, w = make_speculators(rng, _)
    config |= dict(architectures=["PEagleSpeculator"], speculators_model_type="peagle", mask_token_id=90)
    for key in ("norm_before_fc", "norm_output"):
        del config[key]
    del w["input_norm.weight"]
    config["transformer_layer_config"]["num_hidden_layers"] = 3
    for i in (1, 2):
        w |= layer_weights(rng, f"layers.{i}.", LAYER)
    return config, loud(w) | {"mask_hidden": rng.standard_normal((1, 1, 144))}


BLOCK = LAYER | dict(num_hidden_layers=2, num_key_value_heads=2, max_position_embeddings=256)


def block_weights(rng, states, c=BLOCK):
    w = {"fc.weight": matrix(rng, 48, 48 * states), "hidden_norm.weight": norm_weight(rng, 48),
         "norm.weight": norm_weight(rng, 48)}
    for i in range(c["num_hidden_layers"]):
        w |= layer_weights(rng, f"layers.{i}.", c)
        w |= {f"layers.{i}.self_attn.{letter}_norm.weight": norm_weight(rng, c["head_dim"]) for letter in "qk"}
    return loud(w)


def make_dflash(rng, _):
    """z-lab's form: another number of states than of layers, no tables."""
    c = BLOCK | dict(num_hidden_layers=3)
    config = dict(architectures=["DFlashDraftModel"], model_type="qwen3", block_size=DEPTH + 1, num_target_layers=3,
                  layer_types=["full_attention"] * 3, dflash_config=dict(mask_token_id=95, target_layer_ids=[0, 1]), **c)
    return config, block_weights(rng, 2, c)


def make_dflash_speculators(rng, _):
    """Tables of its own, a part of the vocabulary, and a causal window beside a layer that sees all."""
    layer = dict(model_type="qwen3", layer_types=["sliding_attention", "full_attention"], sliding_window=6,
                 use_sliding_window=True, **BLOCK)
    known = np.sort(rng.choice(96, 40, replace=False))
    config = dict(architectures=["DFlashDraftModel"], speculators_model_type="dflash", block_size=DEPTH + 1,
                  draft_vocab_size=40, mask_token_id=3, aux_hidden_state_layer_ids=[2, 0, 1],
                  sample_from_anchor=False, sliding_window_non_causal=False, transformer_layer_config=layer)
    return config, block_weights(rng, 3) | {
        "embed_tokens.weight": 0.5 * rng.standard_normal((96, 48)), "lm_head.weight": 1.5 * matrix(rng, 40, 48),
        "d2t": (known - np.arange(40)).astype(np.int64), "t2d": np.isin(np.arange(96), known)}


def make_dspark(rng, target):
    """DeepSpec's form, with copies of the target's tables."""
    config = dict(architectures=["Qwen3DSparkModel"], model_type="qwen3", block_size=DEPTH, num_target_layers=3,
                  mask_token_id=95, target_layer_ids=[-1, 1], num_anchors=8, markov_rank=10,
                  markov_head_type="vanilla", enable_confidence_head=True, confidence_head_with_markov=True, **BLOCK)
    return config, block_weights(rng, 2) | {
        "embed_tokens.weight": target["model.embed_tokens.weight"], "lm_head.weight": target["lm_head.weight"],
        "markov_head.markov_w1.weight": rng.standard_normal((96, 10)),
        "markov_head.markov_w2.weight": matrix(rng, 96, 10),
        "confidence_head.proj.weight": matrix(rng, 1, 58), "confidence_head.proj.bias": rng.standard_normal(1)}


def make_dflash2(rng, _):
    config = dict(architectures=["DFlash2DraftModel"], model_type="qwen3", is_causal=False,
                  layer_types=["full_attention"] * 2,
                  dflash_config=dict(block_size=DEPTH + 1, mask_token_id=95, target_layer_ids=[1, 0],
                                     conv_kernel_size=3, conv_group_size=16, selector_rank=12, selector_top_k=9),
                  **BLOCK)
    w = block_weights(rng, 2)
    for i in range(2):
        for side in ("attention_conv", "mlp_conv"):
            w |= {f"layers.{i}.{side}.base_kernel": rng.standard_normal((2, 3, 48)),
                  f"layers.{i}.{side}.kernel_projection.weight": matrix(rng, 2 * 3 * 3, 48)}
    selector = "candidate_selector."
    return config, w | {selector + "predecessor_codebook": rng.standard_normal((96, 12)),
                        selector + "successor_codebook": rng.standard_normal((96, 12)),
                        selector + "hidden_projection.weight": matrix(rng, 12, 48)}


def make_domino(rng, _):
    """The authors' form, which SpecForge's and ModelOpt's are."""
    config = dict(architectures=["DFlashDraftModel"], model_type="qwen3", emb_dim=12, block_size=DEPTH,
                  num_target_layers=3, layer_types=["full_attention"] * 2,
                  dflash_config=dict(mask_token_id=95, target_layer_ids=[0, 1], projector_type="domino",
                                     pure_draft_prefix_len=1, emb_dim=12, gru_hidden_dim=20, shift_label=True), **BLOCK)
    return config, block_weights(rng, 2) | {
        "prefix_gru.weight_ih_l0": 3 * matrix(rng, 60, 48), "prefix_gru.weight_hh_l0": 2 * matrix(rng, 60, 20),
        "embed_proj.0.weight": 2 * matrix(rng, 12, 68), "embed_proj.2.weight": 2 * matrix(rng, 96, 12)}


def make_medusa(rng, _):
    w = {}
    for i in range(DEPTH):
        w |= {f"{i}.0.linear.weight": matrix(rng, 48, 48), f"{i}.0.linear.bias": 0.3 * rng.standard_normal(48),
              f"{i}.1.weight": matrix(rng, 96, 48)}
    return dict(medusa_num_heads=DEPTH, medusa_num_layers=1, base_model_name_or_path="llama"), w


def make_vllm_medusa(rng, _):
    w = {}
    for i in range(DEPTH):
        w |= {f"blocks.{i}.layers.{b}.weight": matrix(rng, 48, 48) for b in range(2)}
        w[f"lm_heads.{i}.weight"] = matrix(rng, 96, 48)
    return dict(architectures=["MedusaModel"], model_type="medusa", num_heads=DEPTH, num_hidden_layers=2,
                hidden_size=48, vocab_size=96, truncated_vocab_size=96), w


def make_target_with_mtp(rng, architecture):
    mimo = architecture == "MiMoForCausalLM"
    config = dict(architectures=[architecture], model_type="mimo" if mimo else "llama", hidden_size=32,
                  intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                  hidden_act="silu", rms_norm_eps=1e-5, rope_theta=10000.0, max_position_embeddings=256, vocab_size=64,
                  tie_word_embeddings=False, num_nextn_predict_layers=1)
    w = {"model.embed_tokens.weight": 0.5 * rng.standard_normal((64, 32)), "model.norm.weight": norm_weight(rng, 32),
         "lm_head.weight": 1.5 * matrix(rng, 64, 32)}
    for i in range(2):
        w |= layer_weights(rng, f"model.layers.{i}.", config, bias=mimo)
    p = "model.mtp_layers.0." if mimo else "model.layers.2."
    w |= layer_weights(rng, p, config, bias=mimo)
    token, state, join, out = ("token_layernorm", "hidden_layernorm", "input_proj", "final_layernorm") if mimo else (
        "enorm", "hnorm", "eh_proj", "shared_head.norm")
    w |= {p + token + ".weight": norm_weight(rng, 32), p + state + ".weight": norm_weight(rng, 32),
          p + join + ".weight": matrix(rng, 32, 64), p + out + ".weight": norm_weight(rng, 32)}
    if not mimo:  # DeepSeek-V3 stores copies of what its module shares with the target
        w |= {p + "embed_tokens.weight": w["model.embed_tokens.weight"],
              p + "shared_head.head.weight": w["lm_head.weight"]}
    return config, w


def hybrid_layer(rng, prefix, c):
    hidden, inner, experts, dim = c["hidden_size"], c["moe_intermediate_size"], c["num_experts"], c["head_dim"]
    shared, q, kv = c["shared_expert_intermediate_size"], c["num_attention_heads"] * dim, c["num_key_value_heads"] * dim

    def stacked(out, inputs):
        return np.stack([matrix(rng, out, inputs) for _ in range(experts)])

    w = {"mlp.gate.weight": 2 * matrix(rng, experts, hidden), "mlp.experts.gate_up_proj": stacked(2 * inner, hidden),
         "mlp.experts.down_proj": stacked(hidden, inner), "mlp.shared_expert_gate.weight": matrix(rng, 1, hidden),
         "mlp.shared_expert.gate_proj.weight": matrix(rng, shared, hidden),
         "mlp.shared_expert.up_proj.weight": matrix(rng, shared, hidden),
         "mlp.shared_expert.down_proj.weight": matrix(rng, hidden, shared),
         "input_layernorm.weight": norm_weight(rng, hidden) - 1,
         "post_attention_layernorm.weight": norm_weight(rng, hidden) - 1}
    w |= {"self_attn.q_proj.weight": matrix(rng, 2 * q, hidden), "self_attn.k_proj.weight": matrix(rng, kv, hidden),
          "self_attn.v_proj.weight": matrix(rng, kv, hidden), "self_attn.o_proj.weight": matrix(rng, hidden, q),
          "self_attn.q_norm.weight": norm_weight(rng, dim) - 1, "self_attn.k_norm.weight": norm_weight(rng, dim) - 1}
    return {prefix + k: v for k, v in w.items()}


def make_qwen_with_mtp(rng, _):
    """Without delta networks, of whose targets traces hold steps alone."""
    c = dict(model_type="qwen3_5_moe_text", hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, head_dim=16, vocab_size=64, hidden_act="silu", rms_norm_eps=1e-6,
             max_position_embeddings=256, layer_types=["full_attention"] * 2,
             linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=12,
             linear_conv_kernel_dim=4, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=20,
             shared_expert_intermediate_size=28, tie_word_embeddings=False, mtp_num_hidden_layers=1,
             rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.25))
    config = dict(architectures=["Qwen3_5MoeForConditionalGeneration"], model_type="qwen3_5_moe", text_config=c)
    trunk = "model.language_model."
    w = {trunk + "embed_tokens.weight": 0.5 * rng.standard_normal((64, 32)), "lm_head.weight": 1.5 * matrix(rng, 64, 32),
         trunk + "norm.weight": norm_weight(rng, 32) - 1, "mtp.norm.weight": norm_weight(rng, 32) - 1,
         "mtp.pre_fc_norm_embedding.weight": norm_weight(rng, 32) - 1,
         "mtp.pre_fc_norm_hidden.weight": norm_weight(rng, 32) - 1, "mtp.fc.weight": matrix(rng, 32, 64)}
    for i in range(2):
        w |= hybrid_layer(rng, f"{trunk}layers.{i}.", c)
    return config, w | hybrid_layer(rng, "mtp.layers.0.", c)


def rounded(weights, dtype):
    return {k: v if v.dtype.kind in "iub" or v.dtype == np.float32 else v.astype(dtype).copy()
            for k, v in weights.items()}


FIXTURES = {  # folder: method, how its files are made, the reference, the weights' file and their format
    "eagle": ("eagle1", make_eagle, Eagle, "model", np.float16),
    "eagle3": ("eagle3", make_eagle3, Eagle3, "model", np.float16),
    "eagle3_speculators": ("eagle3", make_speculators, Eagle3, "model", np.float16),
    "medusa": ("medusa", make_medusa, Medusa, "medusa_lm_head", np.float16),
    "medusa_vllm": ("medusa", make_vllm_medusa, Medusa, "model", np.float16),
    "mtp_deepseek": ("mtp_sequential", lambda rng, _: make_target_with_mtp(rng, "LlamaForCausalLM"), Mtp, "model",
                     np.float32),
    "mtp_mimo": ("mtp_sequential", lambda rng, _: make_target_with_mtp(rng, "MiMoForCausalLM"), MimoMtp, "model",
                 np.float32),
    "mtp_qwen": ("mtp_sequential", make_qwen_with_mtp, QwenMtp, "model", np.float16),
    "p_eagle": ("p_eagle", make_p_eagle, PEagle, "model", np.float16),
    "p_eagle_speculators": ("p_eagle", make_parallel_speculators, PEagle, "model", np.float16),
    "dflash": ("dflash", make_dflash, Block, "model", np.float16),
    "dflash_speculators": ("dflash", make_dflash_speculators, Block, "model", np.float16),
    "dspark": ("dspark", make_dspark, DSpark, "model", np.float16),
    "dflash2": ("dflash2", make_dflash2, DFlash2, "model", np.float16),
    "domino": ("domino", make_domino, Domino, "model", np.float16),
}


def make_fixture(name, folder, llama, attempt):
    method, make, reference, stem, dtype = FIXTURES[name]
    rng = np.random.default_rng([SEED, attempt, *name.encode()])
    config, weights = make(rng, llama)
    weights = rounded(weights, dtype)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file(weights, folder / f"{stem}.safetensors")
    target = folder if issubclass(reference, Mtp) else ROOT / "llama"
    words = Target(target, dtype).c["vocab_size"]
    prompts = [rng.integers(3, words, n).tolist() for n in (21, 5)]

    def load(wide, of):
        return reference({k: v.astype(wide) if v.dtype.kind == "f" else v for k, v in weights.items()}, config, of)

    record = dict(seed=[SEED, attempt]) | expected(load, target, method, prompts)
    (folder / "expected.json").write_text(
        "{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in record.items()) + "\n}\n")
    total = sum(f.stat().st_size for f in folder.iterdir())
    if "drafts" in record:
        return print(f"{name:19} {total / 1000:4.0f} kB   fp32 and fp64 draft the same")
    found = sum(r is not None and r < 16 for p in record["ranks"] for q in p for r in q)
    print(f"{name:19} {total / 1000:4.0f} kB   fp32 against fp64: {record['largest_error_of_fp32']:.1e}   "
          f"{found} tokens among the 16 best")


def main():
    used = {m.__name__: m.__version__ for m in (safetensors, np)}
    if used != PINNED:
        sys.exit(f"pinned versions are {PINNED}, installed are {used}")
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "drafters"
    llama = load_file(ROOT / "llama/model.safetensors")
    for name in sys.argv[2:] or FIXTURES:
        for attempt in range(100):
            try:
                make_fixture(name, root / name, llama, attempt)
                break
            except TooClose:
                continue


if __name__ == "__main__":
    main()
