# SPDX-License-Identifier: Apache-2.0
"""The texts of make_texts as batches, and what drafters predict: the target's distribution over a part of its vocabulary."""
import collections
import pathlib
import random

import torch
import torch.nn.functional as F
from target import wanted_layers

RANDOM_WORDS = 512  # of the other tokens, drawn anew for each batch, so that none of them is left untrained


class Texts:
    def __init__(self, folder, target, words):
        """`words`: the number of frequent tokens over which a loss is taken."""
        files = sorted(pathlib.Path(folder).glob("*.pt"))
        self.texts = [t for f in files for t in torch.load(f)]
        self.layers = wanted_layers(target) + [target.layers]
        self.target = target
        counts = collections.Counter(w for t in self.texts for w in t["tokens"][t["prompt"]:])
        counts.update({w: 0 for w in range(target.vocabulary)})
        ordered = [w for w, _ in sorted(counts.items(), key=lambda c: (-c[1], c[0]))]
        self.frequent, self.others = (torch.tensor(sorted(w), dtype=torch.long)
                                      for w in (ordered[:words], ordered[words:]))
        self.coverage = sum(counts[int(w)] for w in self.frequent) / max(1, sum(counts.values()))

    def tokens(self):
        return sum(len(t["tokens"]) - t["prompt"] for t in self.texts)

    def batches(self, rows, rng, only_frequent):
        """Batches of about so many rows, of texts of similar lengths."""
        order = sorted(self.texts, key=lambda t: (len(t["tokens"]), rng.random()))
        batches, batch = [], []
        for t in order:
            if batch and (len(batch) + 1) * len(t["tokens"]) > rows:
                batches.append(batch)
                batch = []
            batch.append(t)
        batches.append(batch)
        rng.shuffle(batches)
        for b in batches:
            yield Batch(self, b, only_frequent)

    def draft_only(self, frequent):
        """Of these tokens, for a drafter that drafts no others."""
        self.frequent = frequent


class Batch:
    """`tokens` [texts, rows]; `states` of the wanted layers [texts, rows, layers, hidden], where row i is of token i;
    `answered` [texts, rows]: token i + 1 is of the answer, so that the target's prediction at i counts."""

    def __init__(self, texts, batch, only_frequent):
        target, longest = texts.target, max(len(t["tokens"]) for t in batch)
        self.target, self.layers = target, texts.layers
        self.tokens = torch.zeros(len(batch), longest, dtype=torch.long)
        self.states = torch.zeros(len(batch), longest, *batch[0]["states"].shape[1:], dtype=batch[0]["states"].dtype)
        self.answered = torch.zeros(len(batch), longest, dtype=torch.bool)
        for i, t in enumerate(batch):
            n = len(t["tokens"])
            self.tokens[i, :n] = torch.tensor(t["tokens"])
            self.states[i, :n - 1] = t["states"]
            self.answered[i, t["prompt"] - 1:n - 1] = True
        drawn = texts.others[torch.randperm(len(texts.others))[:0 if only_frequent else RANDOM_WORDS]]
        self.words = torch.cat([texts.frequent, drawn])
        self.head = target.head[self.words]

    def state(self, layer):
        """The states that enter a layer; layer `target.layers`: after the final norm."""
        if layer == 0:
            return self.target.embedding[self.tokens]
        return self.states[:, :, self.layers.index(layer)]

    def embedded(self, ahead):
        """Of the tokens so many places ahead; zeros behind the end."""
        return F.pad(self.target.embedding[self.tokens[:, ahead:]], (0, 0, 0, ahead))

    def rows(self, ahead):
        """[texts, rows]: whether a step may start there, and the target's prediction so many places ahead is known."""
        return self.answered & F.pad(self.answered[:, ahead:], (0, ahead))

    def wanted(self, ahead, rows):
        """The target's distribution so many places ahead over `words`, for the chosen rows, [chosen, words]."""
        final = F.pad(self.state(self.target.layers)[:, ahead:], (0, 0, 0, ahead))[rows]
        return F.linear(final, self.head).float().softmax(-1)

    def loss(self, logits, ahead, rows):
        """Cross entropy between the target's distribution and `logits` [chosen, words], and the share of the chosen rows
        whose best token is the target's."""
        wanted = self.wanted(ahead, rows)
        number = max(1, len(wanted))  # a batch may have no such row
        loss = -(wanted * logits.float().log_softmax(-1)).sum() / number
        return loss, (logits.argmax(-1) == wanted.argmax(-1)).sum().item() / number
