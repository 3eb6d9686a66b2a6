# SPDX-License-Identifier: Apache-2.0
"""EAGLE and EAGLE-2 (Li et al. 2024, section 4), and HASS (Zhang et al. 2024, section 3), whose network is the same and
whose training goes on from its own features."""
import torch
import torch.nn.functional as F
from drafter import Drafter, llama_config, mean
from network import Layer
from torch import nn

FEATURE, WORDS = 1.0, 1.0  # weights of the two losses; the authors' 0.1 of words is too little for a short training
NOISE = 0.1  # on features, of texts of 512 tokens, as the authors'
BEST, BEST_WEIGHT = 10, 1.0  # HASS: a loss on the target's best tokens


class Eagle(Drafter):
    steps = 1

    def __init__(self, target, texts):
        super().__init__(target, texts)
        self.fc = nn.Linear(2 * target.hidden, target.hidden)
        with torch.no_grad():  # at first the feature itself
            self.fc.weight[:, :target.hidden] *= 0.1
            self.fc.weight[:, target.hidden:] = torch.eye(target.hidden)
            self.fc.bias.zero_()
        self.layer = Layer(target, input_norm=False).start_from(target, target.layers - 1).starts_as_identity()

    def features(self, batch, feature):
        """Yields the features [texts, rows, hidden] of each level; the first is made from `feature`."""
        past = []
        for s in range(self.steps):
            feature = self.layer(self.fc(torch.cat([batch.embedded(s + 1), feature], -1)), past, s)
            yield feature
            feature = feature.detach()  # as HASS trains; a step that drafts goes on in the same way

    def levels(self, batch, rows):
        return (feature[rows] for feature in self.features(batch, batch.state(self.target.layers)))

    def loss(self, batch):
        truth = batch.state(self.target.layers)
        noise = torch.empty_like(truth).uniform_(-NOISE, NOISE) * (512 / truth.shape[1])
        losses = []
        for s, feature in enumerate(self.features(batch, truth + noise)):
            rows = batch.rows(s + 1)
            logits = self.logits(feature[rows], batch)
            loss, share = batch.loss(logits, s + 1, rows)
            wanted = F.pad(truth[:, s + 1:], (0, 0, 0, s + 1))[rows]
            loss = WORDS * loss + FEATURE * F.smooth_l1_loss(feature[rows].float(), wanted.float())
            if self.steps > 1:
                best = batch.wanted(s + 1, rows).topk(BEST)
                own = logits.float().log_softmax(-1).gather(1, best.indices)
                loss = loss - BEST_WEIGHT * (best.values * own).sum(-1).mean()
            losses.append((loss, share))
        return mean(losses, [1] * len(losses))

    def config(self):
        return llama_config(self.target)

    def weights(self):
        return dict(self.layer.as_llama("layers.0."), **{"fc.weight": self.fc.weight, "fc.bias": self.fc.bias})


class Hass(Eagle):
    steps = 3
