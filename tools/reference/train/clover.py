# SPDX-License-Identifier: Apache-2.0
"""Clover (Xiao et al. 2024, section 3): a layer over the text, then for each draft the last token's value, gated by the
cosine of state and token, and a residual block. The ablations of its figure 7 leave parts out."""
import torch
import torch.nn.functional as F
from drafter import Drafter
from network import Layer, Norm, Residual
from torch import nn

LEVELS = 3


class Clover(Drafter):
    left_out = 0  # 1: the attention decoder, 2: also the regressive connection, 3: also the augmenting block
    options = {"draft_length": LEVELS}

    def __init__(self, target, texts):
        super().__init__(target, texts)
        d = target.hidden
        if self.left_out < 3:
            self.augment = Layer(target).start_from(target, target.layers - 1).starts_as_identity()
        if self.left_out < 1:
            self.norm = Norm(d, target.epsilon)
            self.q, self.k = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        if self.left_out < 2:
            self.v = nn.Linear(d, d, bias=False)
            nn.init.zeros_(self.v.weight)
        self.heads = nn.ModuleList(Residual(d) for _ in range(LEVELS))

    def gate(self, hidden, token, value):
        head = self.target.head_dim
        q, k, v = (x.unflatten(-1, (-1, head)) for x in (self.q(self.norm(hidden)), self.k(token), value))
        return (F.cosine_similarity(q.float(), k.float(), -1)[..., None].to(v.dtype) * v).flatten(-2)

    def levels(self, batch, rows):
        hidden = batch.state(self.target.layers)
        hidden = (self.augment(hidden) if self.left_out < 3 else hidden)[rows]
        for i, head in enumerate(self.heads):
            if self.left_out < 2:
                token = batch.embedded(i + 1)[rows]
                value = self.v(token)
                hidden = hidden + (value if self.left_out == 1 else self.gate(hidden, token, value))
            yield head(hidden)

    def weights(self):
        w = self.augment.as_named("clover.augment.") if self.left_out < 3 else {}
        if self.left_out < 1:
            w.update({"clover.norm": self.norm.weight, "clover.q": self.q.weight.T, "clover.k": self.k.weight.T})
        if self.left_out < 2:
            w["clover.v"] = self.v.weight.T
        for i, head in enumerate(self.heads):
            w["clover.%d.w" % i], w["clover.%d.b" % i] = head.linear.weight.T, head.linear.bias
        return w


class WithoutAttentionDecoder(Clover):
    left_out = 1
    options = {"draft_length": LEVELS, "without": "attention_decoder"}


class WithoutRegressiveConnection(Clover):
    left_out = 2
    options = {"draft_length": LEVELS, "without": "regressive_connection"}


class WithoutAugmentingBlock(Clover):
    left_out = 3
    options = {"draft_length": LEVELS, "without": "augmenting_block"}
