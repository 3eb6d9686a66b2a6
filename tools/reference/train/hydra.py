# SPDX-License-Identifier: Apache-2.0
"""Hydra++ (Ankner et al. 2024, section 4): a layer over the states, and heads that read the drafts before them. The LM
heads stay the target's."""
import torch
import torch.nn.functional as F
from drafter import Drafter
from network import Layer
from torch import nn

HEADS, FURTHER_BLOCKS = 4, 3


class HydraPlus(Drafter):
    options = {"draft_length": HEADS}

    def __init__(self, target, texts):
        super().__init__(target, texts)
        d = target.hidden
        self.prefix = Layer(target).start_from(target, target.layers - 1).starts_as_identity()
        self.skip = nn.ModuleList(nn.Linear((i + 2) * d, d) for i in range(HEADS))
        self.into = nn.ModuleList(nn.Linear((i + 2) * d, d) for i in range(HEADS))
        self.block = nn.ModuleList(nn.Linear(d, d) for i in range(HEADS))
        with torch.no_grad():
            for skip, block in zip(self.skip, self.block):
                skip.weight.zero_()
                skip.weight[:, :d] = torch.eye(d)
                skip.bias.zero_()
                block.weight.zero_()
                block.bias.zero_()

    def levels(self, batch, rows):
        context = self.prefix(batch.state(self.target.layers))[rows]
        for i in range(HEADS):
            context = torch.cat([context, batch.embedded(i + 1)[rows]], -1)
            z = self.skip[i](context) + F.silu(self.into[i](context))
            for _ in range(FURTHER_BLOCKS):
                z = z + F.silu(self.block[i](z))
            yield z

    def weights(self):
        w = self.prefix.as_named("hydra_plus.prefix.")
        for i in range(HEADS):
            name = "hydra_plus.%d." % i
            w[name + "skip"], w[name + "skip_bias"] = self.skip[i].weight.T, self.skip[i].bias
            w[name + "in"], w[name + "in_bias"] = self.into[i].weight.T, self.into[i].bias
            w[name + "block"], w[name + "block_bias"] = self.block[i].weight.T, self.block[i].bias
            w[name + "lm_head"] = self.target.head.T
        return w
