# SPDX-License-Identifier: Apache-2.0
"""Decoder layers in numpy, for drafter_reference.py. x is [tokens, hidden], matrices are as stored, [out, in]; the
precision is that of the weights.
"""
import numpy as np


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


def masked_attention(q, k, v, visible):
    """visible: [queries, keys]."""
    group = q.shape[1] // k.shape[1]
    scores = np.einsum("qhd,khd->hqk", q, np.repeat(k, group, 1)) / np.sqrt(q.dtype.type(q.shape[2]))
    scores = np.where(visible[None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", weights, np.repeat(v, group, 1)).reshape(len(q), -1)


def attend(q, k, v, past, turned):
    """Of rows behind those of `past`; keys are cached turned."""
    before = 0 if past is None else len(past[0])
    positions = before + np.arange(len(q))
    q, k = turned(q, positions), turned(k, positions)
    if past is not None:
        k, v = np.concatenate([past[0], k]), np.concatenate([past[1], v])
    return masked_attention(q, k, v, np.arange(len(k))[None, :] <= positions[:, None]), (k, v)


def gated_mlp(y, gate, up, down):
    return (silu(y @ gate.T) * (y @ up.T)) @ down.T


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
        mixed, past = attend(q, k, v, past, lambda x, positions: rope(x, positions, c))
        return mixed @ self.get("self_attn.o_proj.weight").T, past

    def mlp(self, y):
        return gated_mlp(y, *(self.get(f"mlp.{name}_proj.weight") for name in ("gate", "up", "down")))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class HybridLayer(Layer):
    """A layer of Qwen3.5 that attends: gated attention, and experts beside a shared one."""

    def norm(self, x, name):  # stored less one
        return rms(x, 1 + self.get(name + ".weight"), self.c["rms_norm_eps"])

    def linear(self, x, name):
        return x @ self.get(name + ".weight").T

    def attention(self, y, past=None):
        n, dim = len(y), self.c["head_dim"]
        turning = int(self.c["rope_parameters"]["partial_rotary_factor"] * dim)
        turns = dict(head_dim=turning, rope_theta=self.c["rope_parameters"]["rope_theta"])
        q, gate = np.split(self.linear(y, "self_attn.q_proj").reshape(n, -1, 2 * dim), 2, -1)
        k, v = (self.linear(y, f"self_attn.{letter}_proj").reshape(n, -1, dim) for letter in "kv")
        q, k = self.norm(q, "self_attn.q_norm"), self.norm(k, "self_attn.k_norm")

        def turned(x, positions):
            return np.concatenate([rope(x[..., :turning], positions, turns), x[..., turning:]], -1)

        mixed, past = attend(q, k, v, past, turned)
        return self.linear(mixed * sigmoid(gate.reshape(n, -1)), "self_attn.o_proj"), past

    def mlp(self, y):
        scores = self.linear(y, "mlp.gate")
        best = np.argsort(-scores, -1)[:, :self.c["num_experts_per_tok"]]
        out = gated_mlp(y, *(self.get(f"mlp.shared_expert.{name}_proj.weight") for name in ("gate", "up", "down")))
        out = out * sigmoid(self.linear(y, "mlp.shared_expert_gate"))
        for row, chosen in enumerate(best):
            weights = np.exp(scores[row, chosen] - scores[row, chosen].max())
            for e, weight in zip(chosen, weights / weights.sum()):
                gate, up = np.split(self.get("mlp.experts.gate_up_proj")[e], 2)
                out[row] += weight * gated_mlp(y[row], gate, up, self.get("mlp.experts.down_proj")[e])
        return out
