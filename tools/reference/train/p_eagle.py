# SPDX-License-Identifier: Apache-2.0
"""P-EAGLE (arXiv 2602.01469, section 3): EAGLE-3's network with more layers drafts in one pass; a mask state and a mask
token stand for what is not known yet."""
import torch
from eagle3 import Eagle3
from network import Layer
from torch import nn

DRAFTS = 4


class PEagle(Eagle3):
    options = {"draft_length": DRAFTS}

    def __init__(self, target, texts):
        super().__init__(target, texts)
        self.mask = nn.Parameter(0.02 * torch.randn(1, 3 * target.hidden))
        self.second = Layer(target).start_from(target, target.layers - 1).starts_as_identity()

    def levels(self, batch, rows):
        known = self.fc(torch.cat([batch.state(h) for h in self.hooks], -1))
        mask_token = self.target.embedding[-1].expand_as(batch.embedded(1))
        pasts = [], []
        for s in range(DRAFTS):
            state, token = (known, batch.embedded(1)) if s == 0 else (self.fc(self.mask).expand_as(known), mask_token)
            read = torch.cat([self.token_norm(token), self.state_norm(state)], -1)
            yield self.second(self.layer(state, pasts[0], s, read), pasts[1], s)[rows]

    def config(self):
        return dict(super().config(), num_hidden_layers=2, ptd_token_id=self.target.vocabulary - 1)

    def weights(self):
        return dict(super().weights(), mask_hidden=self.mask[None], **self.second.as_llama("layers.1."))
