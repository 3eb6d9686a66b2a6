#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/fixtures/drafters: small random drafters in the forms in which drafters are published, and what each
drafts after texts of its target, by a reference of its own.

Needs Python 3.11 and exactly these versions (a virtual environment outside the repository):
    pip install safetensors==0.6.2 numpy==2.2.6
Use:
    python tools/make_drafter_fixtures.py [FOLDER]        default: tests/fixtures/drafters beside this script's folder

Each folder holds config.json, the weights, and expected.json: the target's greedy texts, and for every output token p
and level j the drafter's logarithm of the probability of token p + 1 + j, and its rank among the drafter's candidates,
where the tokens between are the target's (null: the drafter does not know the token). Everything is computed in fp64
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
from safetensors.numpy import load_file, save_file

PINNED = {"safetensors": "0.6.2", "numpy": "2.2.6"}
SEED = 20251122
DEPTH, NEW_TOKENS = 4, 40
LEAST_MARGIN = 3e-5
ROOT = pathlib.Path(__file__).parent.parent / "tests/fixtures"


class TooClose(Exception):
    """Rounding could turn a decision."""


# ---- the reference: x [tokens, hidden], matrices as they are stored, [out, in]

def rms(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(eps)) * weight


def silu(x):
    return x / (1 + np.exp(-x))


def frequencies(c):
    inv = 1.0 / c["rope_theta"] ** (np.arange(0, c["head_dim"], 2) / c["head_dim"])
    s = c.get("rope_scaling")
    if s is None:
        return inv
    assert s["rope_type"] == "llama3"
    length = 2 * np.pi / inv
    low, high, old = s["low_freq_factor"], s["high_freq_factor"], s["original_max_position_embeddings"]
    smooth = np.clip((old / length - low) / (high - low), 0, 1)
    return (1 - smooth) * inv / s["factor"] + smooth * inv


def rope(x, positions, c):
    angles = positions[:, None] * frequencies(c)[None, :]
    cos, sin = np.cos(angles)[:, None, :].astype(x.dtype), np.sin(angles)[:, None, :].astype(x.dtype)
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


class Layer:
    """A Llama layer's attention and MLP; keys and values of earlier rows are given and returned."""

    def __init__(self, weights, prefix, c):
        self.w, self.p, self.c = weights, prefix, c

    def get(self, name):
        return self.w[self.p + name]

    def norm(self, x, name):
        return rms(x, self.get(name + ".weight"), self.c["rms_norm_eps"])

    def attention(self, y, past=None):
        c, dim = self.c, self.c["head_dim"]

        def heads(letter):
            out = y @ self.get(f"self_attn.{letter}_proj.weight").T
            bias = self.w.get(self.p + f"self_attn.{letter}_proj.bias")
            return (out if bias is None else out + bias).reshape(len(y), -1, dim)

        q, k, v = heads("q"), heads("k"), heads("v")
        before = 0 if past is None else len(past[0])
        positions = before + np.arange(len(y))
        q, k = rope(q, positions, c), rope(k, positions, c)
        if past is not None:
            k, v = np.concatenate([past[0], k]), np.concatenate([past[1], v])
        group = q.shape[1] // k.shape[1]
        scores = np.einsum("qhd,khd->hqk", q, np.repeat(k, group, 1)) / np.sqrt(y.dtype.type(dim))
        visible = np.arange(len(k))[None, :] <= positions[:, None]
        scores = np.where(visible[None], scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        mixed = np.einsum("hqk,khd->qhd", weights, np.repeat(v, group, 1)).reshape(len(y), -1)
        return mixed @ self.get("self_attn.o_proj.weight").T, (k, v)

    def mlp(self, y):
        gate, up = y @ self.get("mlp.gate_proj.weight").T, y @ self.get("mlp.up_proj.weight").T
        return (silu(gate) * up) @ self.get("mlp.down_proj.weight").T


class Target:
    def __init__(self, folder, dtype):
        self.c = json.loads((folder / "config.json").read_text())
        self.w = {k: v.astype(dtype) for k, v in load_file(folder / "model.safetensors").items()}
        self.embedding, self.head = self.w["model.embed_tokens.weight"], self.w["lm_head.weight"]

    def states(self, tokens):
        """The states that enter each layer, and the last one after the final norm."""
        x = self.embedding[tokens]
        entering = []
        for i in range(self.c["num_hidden_layers"]):
            entering.append(x)
            layer = Layer(self.w, f"model.layers.{i}.", self.c)
            x = x + layer.attention(layer.norm(x, "input_layernorm"))[0]
            x = x + layer.mlp(layer.norm(x, "post_attention_layernorm"))
        return entering + [rms(x, self.w["model.norm.weight"], self.c["rms_norm_eps"])]

    def continued(self, prompt, count):
        tokens = list(prompt)
        for _ in range(count):
            logits = self.states(tokens)[-1][-1] @ self.head.T
            best = np.sort(logits)
            if best[-1] - best[-2] < LEAST_MARGIN:
                raise TooClose
            tokens.append(int(logits.argmax()))
        return tokens[len(prompt):]


class Drafter:
    """`weights` and `config` are those of the drafter's folder, the weights already widened."""

    def __init__(self, weights, config, target):
        self.w, self.c, self.t = weights, config, target
        self.ids = np.arange(target.c["vocab_size"])  # the target's ids of its candidates

    def first_states(self, states):  # what stands for the target's state in a pair
        return states[-1]

    def embed(self, tokens):
        return self.t.embedding[tokens]

    def logits_by_level(self, text, start):
        """Yields, for each position p of the output, the logits of the levels."""
        states = self.first_states(self.t.states(text))
        out, cache = self.forward(states[:-1], text[1:])  # pair i: the state of token i, token i + 1
        for root in range(start, len(text) - DEPTH):
            state, past = out[root - 1:root], tuple(x[:root] for x in cache)
            levels = [self.logits(state)[0]]
            for j in range(1, DEPTH):
                state, past = self.forward(state, [text[root + j]], past)
                levels.append(self.logits(state)[0])
            yield levels


class Eagle(Drafter):
    def forward(self, state, tokens, past=None):
        layer = Layer(self.w, "layers.0.", self.c)
        x = np.concatenate([self.embed(tokens), state], -1) @ self.w["fc.weight"].T + self.w["fc.bias"]
        mixed, past = layer.attention(x, past)
        x = x + mixed
        return x + layer.mlp(layer.norm(x, "post_attention_layernorm")), past

    def logits(self, state):
        return state @ self.t.head.T


class Eagle3(Drafter):
    def __init__(self, weights, config, target):
        layer = config.get("transformer_layer_config", config)
        super().__init__(weights, layer, target)
        self.options = config
        self.prefix = "midlayer." if "midlayer.hidden_norm.weight" in weights else "layers.0."
        rows = len(weights["lm_head.weight"])
        self.ids = np.arange(rows) + (weights["d2t"].astype(int) if "d2t" in weights else 0)

    def norm(self, x, name):
        return rms(x, self.w[name], self.c["rms_norm_eps"])

    def embed(self, tokens):
        return self.w.get("embed_tokens.weight", self.t.embedding)[tokens]

    def first_states(self, states):
        layers = self.t.c["num_hidden_layers"]
        ids = self.options.get("eagle_aux_hidden_state_layer_ids", [2, layers // 2, layers - 3])
        x = np.concatenate([states[i] for i in ids], -1)
        if self.options.get("norm_before_fc"):
            x = self.norm(x, "input_norm.weight")
        return x @ self.w["fc.weight"].T

    def forward(self, state, tokens, past=None):
        layer = Layer(self.w, self.prefix, self.c)
        normed = layer.norm(state, "hidden_norm")
        both = np.concatenate([layer.norm(self.embed(tokens), "input_layernorm"), normed], -1)
        mixed, past = layer.attention(both, past)
        x = (normed if self.options.get("norm_before_residual") else state) + mixed
        x = x + layer.mlp(layer.norm(x, "post_attention_layernorm"))
        return (self.norm(x, "norm.weight") if self.options.get("norm_output") else x), past

    def logits(self, state):
        if not self.options.get("norm_output"):
            state = self.norm(state, "norm.weight")
        return state @ self.w["lm_head.weight"].T


class Mtp(Drafter):
    def __init__(self, weights, config, target):
        super().__init__(weights, config, target)
        mimo = config["architectures"] == ["MiMoForCausalLM"]
        self.p = "model.mtp_layers.0." if mimo else f"model.layers.{config['num_hidden_layers']}."
        self.mimo = mimo
        self.names = ("token_layernorm", "hidden_layernorm", "input_proj", "final_layernorm") if mimo else (
            "enorm", "hnorm", "eh_proj", "shared_head.norm")

    def norm(self, x, which):
        return rms(x, self.w[self.p + self.names[which] + ".weight"], self.c["rms_norm_eps"])

    def forward(self, state, tokens, past=None):
        layer = Layer(self.w, self.p, self.c)
        parts = [self.norm(self.embed(tokens), 0), self.norm(state, 1)]
        x = np.concatenate(parts[::-1] if self.mimo else parts, -1) @ self.w[self.p + self.names[2] + ".weight"].T
        mixed, past = layer.attention(layer.norm(x, "input_layernorm"), past)
        x = x + mixed
        x = x + layer.mlp(layer.norm(x, "post_attention_layernorm"))
        return (self.norm(x, 3) if self.mimo else x), past

    def logits(self, state):
        return (state if self.mimo else self.norm(state, 3)) @ self.t.head.T


class Medusa(Drafter):
    def logits_by_level(self, text, start):
        states = self.t.states(text)[-1]
        for root in range(start, len(text) - DEPTH):
            yield [self.head(i, states[root - 1]) for i in range(DEPTH)]

    def head(self, i, h):
        vllm = "blocks.0.layers.0.weight" in self.w
        blocks = self.c["num_hidden_layers"] if vllm else self.c["medusa_num_layers"]
        for b in range(blocks):
            name = f"blocks.{i}.layers.{b}." if vllm else f"{i}.{b}.linear."
            h = h + silu(self.w[name + "weight"] @ h + self.w.get(name + "bias", 0))
        return self.w[f"lm_heads.{i}.weight" if vllm else f"{i}.{blocks}.weight"] @ h


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
    logs, ranks, margin = drafted(double, prompts, texts)
    if margin < LEAST_MARGIN:
        raise TooClose
    of_single = drafted(single, prompts, texts)[0]
    flat = [(a, b) for x, y in zip(logs, of_single) for u, v in zip(x, y) for a, b in zip(u, v) if a is not None]
    return dict(made_by="tools/make_drafter_fixtures.py", versions=PINNED, method=method,
                largest_error_of_fp32=float(max(abs(a - b) for a, b in flat)), prompts=prompts, texts=texts,
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
    "mtp_mimo": ("mtp_sequential", lambda rng, _: make_target_with_mtp(rng, "MiMoForCausalLM"), Mtp, "model",
                 np.float32),
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
    target = folder if reference is Mtp else ROOT / "llama"
    words = json.loads((target / "config.json").read_text())["vocab_size"]
    prompts = [rng.integers(3, words, n).tolist() for n in (21, 5)]

    def load(wide, of):
        return reference({k: v.astype(wide) if v.dtype.kind == "f" else v for k, v in weights.items()}, config, of)

    record = dict(seed=[SEED, attempt]) | expected(load, target, method, prompts)
    (folder / "expected.json").write_text(
        "{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in record.items()) + "\n}\n")
    total = sum(f.stat().st_size for f in folder.iterdir())
    found = sum(r is not None and r < 16 for p in record["ranks"] for q in p for r in q)
    print(f"{name:19} {total / 1000:4.0f} kB   fp32 against fp64: {record['largest_error_of_fp32']:.1e}   "
          f"{found} tokens among the 16 best")


def main():
    used = {m.__name__: m.__version__ for m in (safetensors, np)}
    if used != PINNED:
        sys.exit(f"pinned versions are {PINNED}, installed are {used}")
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "drafters"
    llama = load_file(ROOT / "llama/model.safetensors")
    for name in FIXTURES:
        for attempt in range(100):
            try:
                make_fixture(name, root / name, llama, attempt)
                break
            except TooClose:
                continue


if __name__ == "__main__":
    main()
