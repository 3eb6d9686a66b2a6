# SPDX-License-Identifier: Apache-2.0
"""EAGLE-3 (Li et al. 2025, section 3): three of the target's states, training-time test, an LM head over frequent tokens.
"""
import torch
from drafter import Drafter, llama_config
from network import Layer, Norm
from torch import nn

STEPS = 4


class Eagle3(Drafter):
    only_frequent = True

    def __init__(self, target, texts):
        super().__init__(target, texts)
        d, n = target.hidden, target.layers
        self.hooks = [2, n // 2, n - 3]
        self.fc = nn.Linear(3 * d, d, bias=False)
        self.token_norm, self.state_norm, self.out_norm = (Norm(d, target.epsilon) for _ in range(3))
        self.layer = Layer(target, inputs=2 * d, input_norm=False).start_from(target, n - 1).starts_as_identity()
        self.head = nn.Linear(d, len(texts.frequent), bias=False)
        with torch.no_grad():  # at first the last of the three states
            self.fc.weight[:, :2 * d] *= 0.1
            self.fc.weight[:, 2 * d:] = torch.eye(d)
            self.head.weight.copy_(target.head[texts.frequent].float())
            self.out_norm.weight.copy_(target.norm.float())

    decay = 0.8

    def levels(self, batch, rows):
        state, past = self.fc(torch.cat([batch.state(h) for h in self.hooks], -1)), []
        for s in range(STEPS):
            read = torch.cat([self.token_norm(batch.embedded(s + 1)), self.state_norm(state)], -1)
            state = self.layer(state, past, s, read)
            yield state[rows]

    def logits(self, states, batch):
        return self.head(self.out_norm(states))

    def config(self):
        return llama_config(self.target, architectures=["LlamaForCausalLMEagle3"],
                            draft_vocab_size=len(self.texts_[0].frequent))

    def weights(self):
        frequent = self.texts_[0].frequent
        named = {"fc.weight": self.fc.weight, "norm.weight": self.out_norm.weight, "lm_head.weight": self.head.weight,
                 "midlayer.input_layernorm.weight": self.token_norm.weight,
                 "midlayer.hidden_norm.weight": self.state_norm.weight,
                 "d2t": frequent - torch.arange(len(frequent))}
        return dict(self.layer.as_llama("midlayer."), **named)
