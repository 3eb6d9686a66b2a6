# SPDX-License-Identifier: Apache-2.0
"""A reference of the drafters that tools/make_drafter_fixtures.py makes: what a target generates and what EAGLE,
EAGLE-3, P-EAGLE, MTP modules, Medusa heads, DFlash, DSpark, DFlash 2 and Domino, in the forms in which they are
published, predict after its texts. Everything is computed in the type that the weights are widened to."""
import json

import numpy as np
from layer_reference import HybridLayer, Layer, masked_attention, rms, rope, silu
from safetensors.numpy import load_file

DEPTH = 4  # levels that a drafter predicts
LEAST_MARGIN = 3e-5  # between two logits that decide a token


class TooClose(Exception):
    """Rounding could turn a decision."""


def best_of(logits):
    ordered = np.sort(logits)
    if ordered[-1] - ordered[-2] < LEAST_MARGIN:
        raise TooClose
    return int(logits.argmax())


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
            tokens.append(best_of(self.states(tokens)[-1][-1] @ self.head.T))
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


# ---- drafters that predict all tokens in one pass, of which the drafts themselves are told

class PEagle(Eagle3):
    def drafts(self, text, root):
        """After text[:root + 1]: pairs of a state and the token behind it, then masks."""
        masks = DEPTH - 1
        mask = self.w["mask_hidden"].reshape(1, -1)
        if self.options.get("norm_before_fc"):
            mask = self.norm(mask, "input_norm.weight")
        states = np.concatenate([self.first_states(self.t.states(text[:root])), np.repeat(mask @ self.w["fc.weight"].T,
                                                                                          masks, 0)])
        token = self.options.get("ptd_token_id", self.options.get("mask_token_id"))
        out, _ = self.forward(states, list(text[1:root + 1]) + [token] * masks)
        for i in range(1, self.c["num_hidden_layers"]):
            layer = Layer(self.w, f"layers.{i}.", self.c)
            out = out + layer.attention(layer.norm(out, "input_layernorm"))[0]
            out = out + layer.mlp(layer.norm(out, "post_attention_layernorm"))
        return [int(self.ids[best_of(row)]) for row in self.logits(out[root - 1:])]


class Block(Drafter):
    """DFlash: the states of committed tokens are keys and values to a block of the root and masks."""
    ROOT_PREDICTS = False

    def __init__(self, weights, config, target):
        super().__init__(weights, config.get("transformer_layer_config", config), target)
        self.options = config | config.get("dflash_config", {})
        self.head = weights.get("lm_head.weight", target.head)
        self.ids = np.arange(len(self.head)) + (weights["d2t"].astype(int) if "d2t" in weights else 0)

    def context(self, tokens):
        """Of states that the library speculators counts by the layer they enter, others by the one they leave."""
        entered = self.options.get("aux_hidden_state_layer_ids")
        ids = entered or [1 + i for i in self.options["target_layer_ids"]]
        states = self.t.states(tokens)
        return self.normed(np.concatenate([states[i] for i in ids], -1) @ self.w["fc.weight"].T, "hidden_norm")

    def normed(self, x, name):
        return rms(x, self.w[name + ".weight"], self.c["rms_norm_eps"])

    def attention(self, layer, i, context, y):
        dim, before = self.c["head_dim"], len(context)

        def heads(letter, x):
            return (x @ layer.get(f"self_attn.{letter}_proj.weight").T).reshape(len(x), -1, dim)

        at = before + np.arange(len(y))
        both = np.concatenate([context, y])
        q = rope(layer.norm(heads("q", y), "self_attn.q_norm"), at, self.c)
        k = rope(layer.norm(heads("k", both), "self_attn.k_norm"), np.arange(len(both)), self.c)
        windowed = self.c.get("layer_types", [""] * (i + 1))[i] == "sliding_attention"
        causal = self.options.get("is_causal", windowed and not self.options.get("sliding_window_non_causal", False))
        last = at[:, None] if causal else np.full((len(y), 1), len(both) - 1)
        first = (at[:, None] if causal else before) - (self.c["sliding_window"] if windowed else len(both)) + 1
        keys = np.arange(len(both))[None, :]
        mixed = masked_attention(q, k, heads("v", both), (keys >= first) & (keys <= last))
        return mixed @ layer.get("self_attn.o_proj.weight").T

    def sublayer(self, name, y, inner):
        return inner(y)

    def states(self, context, root):
        """The block's rows after the last norm."""
        rows = DEPTH if self.ROOT_PREDICTS else DEPTH + 1
        x = self.w.get("embed_tokens.weight", self.t.embedding)[[root] + [self.options["mask_token_id"]] * (rows - 1)]
        for i in range(self.c["num_hidden_layers"]):
            layer = Layer(self.w, f"layers.{i}.", self.c)
            x = x + self.sublayer(layer.p + "attention_conv.", layer.norm(x, "input_layernorm"),
                                  lambda y, layer=layer, i=i: self.attention(layer, i, context, y))
            x = x + self.sublayer(layer.p + "mlp_conv.", layer.norm(x, "post_attention_layernorm"), layer.mlp)
        return self.normed(x, "norm")

    def drafts(self, text, root):
        return self.chosen(text[root], self.states(self.context(text[:root]), text[root]))

    def chosen(self, _, states):
        return [int(self.ids[best_of(row)]) for row in states[1:] @ self.head.T]


class DSpark(Block):
    ROOT_PREDICTS = True

    def chosen(self, root, states):
        drafts = [root]
        for row in states @ self.head.T:
            bias = self.w["markov_head.markov_w2.weight"] @ self.w["markov_head.markov_w1.weight"][drafts[-1]]
            drafts.append(int(self.ids[best_of(row + bias)]))
        return drafts[1:]


class DFlash2(Block):
    def convolved(self, x, delta, base):
        """delta is [rows, taps, groups], base [taps, columns]: tap t reads the row t before."""
        factors = base[None] + np.repeat(delta, x.shape[1] // delta.shape[2], -1)
        return sum(factors[:, t] * np.concatenate([np.zeros_like(x[:t]), x[:len(x) - t]]) for t in range(len(base)))

    def sublayer(self, name, y, inner):
        base = self.w[name + "base_kernel"]
        delta = (y @ self.w[name + "kernel_projection.weight"].T).reshape(len(y), 2, base.shape[1], -1)
        return self.convolved(inner(self.convolved(y, delta[:, 0], base[0])), delta[:, 1], base[1])

    def chosen(self, root, states):
        name = "candidate_selector."
        gates = states @ self.w[name + "hidden_projection.weight"].T
        drafts = [root]
        for gate, logits in zip(gates[1:], states[1:] @ self.head.T):
            order = np.argsort(-logits)
            known = order[:self.options["selector_top_k"]]
            if logits[known[-1]] - logits[order[len(known)]] < LEAST_MARGIN:
                raise TooClose
            before = self.w[name + "predecessor_codebook"][drafts[-1]] * gate
            drafts.append(int(known[best_of(logits[known] + self.w[name + "successor_codebook"][known] @ before)]))
        return drafts[1:]


class Domino(Block):
    ROOT_PREDICTS = True

    def read(self, state, token):
        """The GRU's next state; its matrices have the rows of the reset, of the update and of the candidate."""
        x, h = (np.split(self.w[f"prefix_gru.weight_{side}_l0"] @ of, 3)
                for side, of in (("ih", self.t.embedding[token]), ("hh", state)))
        reset, update = (1 / (1 + np.exp(-x[i] - h[i])) for i in (0, 1))
        return (1 - update) * np.tanh(x[2] + reset * h[2]) + update * state

    def chosen(self, root, states):
        drafts, state = [root], np.zeros_like(self.w["prefix_gru.weight_hh_l0"][0])
        for row, logits in zip(states, states @ self.head.T):
            state = self.read(state, drafts[-1])
            if len(drafts) > self.options["pure_draft_prefix_len"]:
                inner = self.w["embed_proj.0.weight"] @ np.concatenate([row, state])
                logits = logits + self.w["embed_proj.2.weight"] @ silu(inner)
            drafts.append(int(self.ids[best_of(logits)]))
        return drafts[1:]
