# SPDX-License-Identifier: Apache-2.0
"""Kangaroo (Liu et al. 2024, section 3): an adapter (norm, attention, norm) over the states of the target's first two
layers."""
import torch
from drafter import Drafter
from network import Layer, Norm

EXIT = 2  # of 30 layers, as the authors' 2 of 32


class Kangaroo(Drafter):
    ahead = 0
    options = {"exit": EXIT}

    def __init__(self, target, texts):
        super().__init__(target, texts)
        self.adapter = Layer(target, mlp=False).start_from(target, target.layers - 1)
        self.norm = Norm(target.hidden, target.epsilon)
        with torch.no_grad():
            self.norm.weight.copy_(target.norm.float())

    def levels(self, batch, rows):
        yield self.adapter(batch.state(EXIT))[rows]

    def logits(self, states, batch):
        return super().logits(self.norm(states), batch)

    def weights(self):
        return dict(self.adapter.as_named("kangaroo."), **{"kangaroo.norm": self.norm.weight})
