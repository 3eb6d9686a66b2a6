# SPDX-License-Identifier: Apache-2.0
"""Multi-token prediction: layers side by side over the input of the target's last layer (Gloeckle et al. 2024, section
2), and DeepSeek-V3's module (2024, section 2.2), which continues the target's state token by token. The trunk is frozen.
"""
import torch
from drafter import Drafter, without_norm
from network import Layer, Norm
from target import rms_norm
from torch import nn

HEADS, STEPS = 3, 3


class Heads(Drafter):
    options = {"draft_length": HEADS}

    def __init__(self, target, texts):
        super().__init__(target, texts)
        self.heads = nn.ModuleList(Layer(target).start_from(target, target.layers - 1) for _ in range(HEADS))

    def levels(self, batch, rows):
        trunk = batch.state(self.target.layers - 1)
        for head in self.heads:
            yield head(trunk)[rows]

    def logits(self, states, batch):
        return super().logits(rms_norm(states, self.target.norm, self.target.epsilon), batch)

    def weights(self):
        return {k: v for i, head in enumerate(self.heads) for k, v in head.as_named("mtp_heads.%d." % i).items()}


class Sequential(Drafter):
    """One module, applied again to its own state, as the decoder applies it."""

    def __init__(self, target, texts):
        super().__init__(target, texts)
        d = target.hidden
        self.token_norm, self.state_norm, self.out_norm = (Norm(d, target.epsilon) for _ in range(3))
        self.join = nn.Linear(2 * d, d, bias=False)
        self.layer = Layer(target).start_from(target, target.layers - 1).starts_as_identity()
        with torch.no_grad():
            self.join.weight[:, :d] *= 0.1
            self.join.weight[:, d:] = torch.eye(d)
            self.state_norm.weight.copy_(without_norm(target))
            self.out_norm.weight.copy_(target.norm.float())

    decay = 0.8

    def levels(self, batch, rows):
        hidden, past = batch.state(self.target.layers), []
        for s in range(STEPS):
            x = self.join(torch.cat([self.token_norm(batch.embedded(s + 1)), self.state_norm(hidden)], -1))
            hidden = self.layer(x, past, s)
            yield hidden[rows]

    def logits(self, states, batch):
        return super().logits(self.out_norm(states), batch)

    def weights(self):
        return dict(self.layer.as_named("mtp.layer."), **{
            "mtp.token_norm": self.token_norm.weight, "mtp.state_norm": self.state_norm.weight,
            "mtp.join": self.join.weight.T, "mtp.out_norm": self.out_norm.weight})
