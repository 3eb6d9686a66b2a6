# SPDX-License-Identifier: Apache-2.0
"""A reference of the drafters that tools/make_drafter_fixtures.py makes: what a target generates and what EAGLE,
EAGLE-3, MTP modules and Medusa heads, in the forms in which they are published, predict after its texts. Everything is
computed in the type that the weights are widened to."""
import json

import numpy as np
from layer_reference import HybridLayer, Layer, rms, silu
from safetensors.numpy import load_file

DEPTH = 4  # levels that a drafter predicts
LEAST_MARGIN = 3e-5  # between two logits that decide a token


class TooClose(Exception):
    """Rounding could turn a decision."""


class Target:
    def __init__(self, folder, dtype):
        config = json.loads((folder / "config.json").read_text())
        self.c = config.get("text_config", config)
        self.w = {k: v.astype(dtype) for k, v in load_file(folder / "model.safetensors").items()}
        self.hybrid = self.c is not config
        self.p = "model.language_model." if self.hybrid else "model."
        self.embedding, self.head = self.w[self.p + "embed_tokens.weight"], self.w["lm_head.weight"]

    def states(self, tokens):
        """The states that enter each layer, and the last one after the final norm."""
        x = self.embedding[tokens]
        entering = []
        for i in range(self.c["num_hidden_layers"]):
            entering.append(x)
            layer = (HybridLayer if self.hybrid else Layer)(self.w, f"{self.p}layers.{i}.", self.c)
            x = x + layer.attention(layer.norm(x, "input_layernorm"))[0]
            x = x + layer.mlp(layer.norm(x, "post_attention_layernorm"))
        return entering + [rms(x, self.hybrid + self.w[self.p + "norm.weight"], self.c["rms_norm_eps"])]

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
    """The names of its norms and its join, of token, state, join and result; whether the state is joined first, and
    whether the next pass reads the normed state."""
    NAMES, STATE_FIRST, NORMED = ("enorm", "hnorm", "eh_proj", "shared_head.norm"), False, False
    LAYER = Layer

    def __init__(self, weights, config, target):
        super().__init__(weights, config.get("text_config", config), target)
        self.p = self.layer_p = f"model.layers.{self.c['num_hidden_layers']}."

    def norm(self, x, which):
        return rms(x, self.w[self.p + self.NAMES[which] + ".weight"], self.c["rms_norm_eps"])

    def forward(self, state, tokens, past=None):
        layer = self.LAYER(self.w, self.layer_p, self.c)
        parts = [self.norm(self.embed(tokens), 0), self.norm(state, 1)]
        joined = np.concatenate(parts[::-1] if self.STATE_FIRST else parts, -1)
        x = joined @ self.w[self.p + self.NAMES[2] + ".weight"].T
        mixed, past = layer.attention(layer.norm(x, "input_layernorm"), past)
        x = x + mixed
        x = x + layer.mlp(layer.norm(x, "post_attention_layernorm"))
        return (self.norm(x, 3) if self.NORMED else x), past

    def logits(self, state):
        return (state if self.NORMED else self.norm(state, 3)) @ self.t.head.T


class MimoMtp(Mtp):
    NAMES, STATE_FIRST = ("token_layernorm", "hidden_layernorm", "input_proj", "final_layernorm"), True
    NORMED = True

    def __init__(self, weights, config, target):
        super().__init__(weights, config, target)
        self.p = self.layer_p = "model.mtp_layers.0."


class QwenMtp(Mtp):
    NAMES, NORMED = ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "fc", "norm"), True
    LAYER = HybridLayer

    def __init__(self, weights, config, target):
        super().__init__(weights, config, target)
        self.p, self.layer_p = "mtp.", "mtp.layers.0."

    def norm(self, x, which):  # stored less one
        return rms(x, 1 + self.w[self.p + self.NAMES[which] + ".weight"], self.c["rms_norm_eps"])


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
