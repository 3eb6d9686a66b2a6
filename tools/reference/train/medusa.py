# SPDX-License-Identifier: Apache-2.0
"""Medusa-1 (Cai et al. 2024, section 3): residual blocks over the last state, each with an LM head. The LM heads stay
the target's, so that a head has d^2 + d parameters to learn."""
from drafter import Drafter
from network import Residual
from torch import nn

HEADS = 4


class Medusa(Drafter):
    def __init__(self, target, texts):
        super().__init__(target, texts)
        self.heads = nn.ModuleList(Residual(target.hidden) for _ in range(HEADS))

    decay = 0.8

    def levels(self, batch, rows):
        state = batch.state(self.target.layers)[rows]
        for head in self.heads:
            yield head(state)

    def config(self):
        return {"architectures": ["MedusaModel"], "model_type": "medusa", "hidden_size": self.target.hidden,
                "vocab_size": self.target.vocabulary, "medusa_num_heads": HEADS, "medusa_num_layers": 1}

    def weights(self):
        w = {}
        for i, head in enumerate(self.heads):
            w["%d.0.linear.weight" % i], w["%d.0.linear.bias" % i] = head.linear.weight, head.linear.bias
            w["%d.1.weight" % i] = self.target.head
        return w

    def save(self, folder, stem="medusa_lm_head"):
        super().save(folder, stem)
