# SPDX-License-Identifier: Apache-2.0
"""A draft network: a small Llama with the target's tokenizer, distilled from the target's distributions (Leviathan et
al. 2023; DistillSpec)."""
import copy

import torch
import torch.nn.functional as F
from drafter import Drafter, llama_config
from network import Layer, Norm
from torch import nn

HIDDEN, LAYERS, HEADS, INTERMEDIATE = 128, 4, 4, 384


class DraftNetwork(Drafter):
    ahead = 0

    def __init__(self, target, texts):
        super().__init__(target, texts)
        self.shape_ = [copy.copy(target)]
        shape = self.shape_[0]
        shape.hidden, shape.heads, shape.kv_heads = HIDDEN, HEADS, HEADS
        shape.head_dim, shape.intermediate = HIDDEN // HEADS, INTERMEDIATE
        # The main directions of the target's embedding, so that rare tokens are not random.
        table = target.embedding.float()
        u, s, _ = torch.pca_lowrank(table, HIDDEN, center=True)
        self.embedding = nn.Parameter(u * s / s[0] * 2)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(LAYERS))
        self.norm = Norm(HIDDEN, target.epsilon)

    def levels(self, batch, rows):
        x = F.embedding(batch.tokens, self.embedding)
        for layer in self.layers:
            x = layer(x)
        yield self.norm(x[rows])

    def logits(self, states, batch):
        return F.linear(states, self.embedding[batch.words])

    def config(self):
        return llama_config(self.target, hidden_size=HIDDEN, intermediate_size=INTERMEDIATE, num_hidden_layers=LAYERS,
                            num_attention_heads=HEADS, num_key_value_heads=HEADS, head_dim=HIDDEN // HEADS,
                            tie_word_embeddings=True)

    def weights(self):
        w = {"model.embed_tokens.weight": self.embedding, "model.norm.weight": self.norm.weight}
        for i, layer in enumerate(self.layers):
            w.update(layer.as_llama("model.layers.%d." % i))
        return w
