# SPDX-License-Identifier: Apache-2.0
"""SpecFormer (Shi et al. 2026, equations 8-10): four of the target's states, attention over the text, then all positions
at once with attention both ways among them. Two ablations of its table 4."""
import torch
from drafter import Drafter, without_norm
from network import Layer, Norm
from target import attended, rms_norm
from torch import nn

POSITIONS = 4


class SpecFormer(Drafter):
    positional_ffn, both_ways = True, True
    options = {"draft_length": POSITIONS, "positions": POSITIONS}

    def __init__(self, target, texts):
        super().__init__(target, texts)
        d, n = target.hidden, target.layers
        self.hooks = [0, n // 2, n - 1, n]
        self.hook_norm = Norm(4 * d, target.epsilon, groups=4)
        self.down = nn.Linear(4 * d, d, bias=False)
        self.context = Layer(target, mlp=False).start_from(target, n - 1).starts_as_identity()
        self.expand_norm = Norm(d, target.epsilon)
        self.expand = nn.Linear(d, POSITIONS * d) if self.positional_ffn else nn.Embedding(POSITIONS, d)
        self.draft = Layer(target).start_from(target, n - 1).starts_as_identity()
        self.draft.attention.rope = False
        with torch.no_grad():
            self.down.weight[:, :3 * d] *= 0.1
            self.down.weight[:, 3 * d:] = torch.diag(without_norm(target))
            if self.positional_ffn:
                self.expand.weight.copy_(torch.eye(d).repeat(POSITIONS, 1))
                self.expand.bias.zero_()
            else:
                self.expand.weight.mul_(0.1)

    def levels(self, batch, rows):
        x = self.context(self.down(self.hook_norm(torch.cat([batch.state(h) for h in self.hooks], -1))))
        x = self.expand_norm(x[rows])
        if self.positional_ffn:
            x = self.expand(x).unflatten(-1, (POSITIONS, -1))
        else:
            x = x[:, None] + self.expand.weight.to(x.dtype)
        a = self.draft.attention
        q, k, v = (p(self.draft.input_norm(x)).unflatten(-1, (-1, self.target.head_dim)) for p in (a.q, a.k, a.v))
        mask = torch.ones(1, POSITIONS, POSITIONS, dtype=torch.bool)
        x = x + a.o(attended(q, k, v, mask if self.both_ways else mask.tril()))
        x = x + self.draft.mlp(self.draft.mlp_norm(x))
        return x.unbind(1)

    def logits(self, states, batch):
        return super().logits(rms_norm(states, self.target.norm, self.target.epsilon), batch)

    def weights(self):
        w = {"specformer.hook_norm": self.hook_norm.weight, "specformer.down": self.down.weight.T,
             "specformer.expand_norm": self.expand_norm.weight}
        w.update(self.context.as_named("specformer.context."))
        w.update(self.draft.as_named("specformer.draft."))
        if self.positional_ffn:
            w.update({"specformer.expand": self.expand.weight.T, "specformer.expand_bias": self.expand.bias})
        else:
            w["specformer.place_embedding"] = self.expand.weight
        return w


class WithoutPositionalFfn(SpecFormer):
    positional_ffn = False
    options = dict(SpecFormer.options, without="positional_ffn")


class Causal(SpecFormer):
    both_ways = False
    options = dict(SpecFormer.options, causal=True)
