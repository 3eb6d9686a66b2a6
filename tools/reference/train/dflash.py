# SPDX-License-Identifier: Apache-2.0
"""DFlash (Chen et al. 2026, section 4): the target's states are keys and values for a block of the root and masks, whose
rows see each other."""
import torch
import torch.nn.functional as F
from drafter import Drafter, llama_config
from network import Layer, Norm
from target import angles, rotated
from torch import nn

DRAFTS, LAYERS = 4, 2


class DFlash(Drafter):
    options = {"draft_length": DRAFTS}

    def __init__(self, target, texts):
        super().__init__(target, texts)
        d, n = target.hidden, target.layers
        self.hooks = [2, n // 2, n - 3]
        self.fc = nn.Linear(3 * d, d, bias=False)
        self.state_norm, self.out_norm = Norm(d, target.epsilon), Norm(d, target.epsilon)
        self.layers = nn.ModuleList(Layer(target).start_from(target, n - LAYERS + i) for i in range(LAYERS))
        self.q_norm = nn.ModuleList(Norm(target.head_dim, target.epsilon) for _ in range(LAYERS))
        self.k_norm = nn.ModuleList(Norm(target.head_dim, target.epsilon) for _ in range(LAYERS))

    def attend(self, i, y, context, text, at):
        """`y` [chosen, block, hidden]; `context` [texts, rows, hidden]; row `at` of `text` is the last that is seen."""
        a, c = self.layers[i].attention, self.target.head_dim
        q, k, v = (p(y).unflatten(-1, (-1, c)) for p in (a.q, a.k, a.v))
        old_k, old_v = (p(context).unflatten(-1, (-1, c)) for p in (a.k, a.v))
        rope = angles(at[:, None] + 1 + torch.arange(y.shape[1]), c, a.base, y.dtype)
        old_rope = angles(torch.arange(context.shape[1])[None], c, a.base, y.dtype)
        q, k = rotated(self.q_norm[i](q), rope), rotated(self.k_norm[i](k), rope)
        old_k = rotated(self.k_norm[i](old_k), old_rope)
        q = q.unflatten(2, (k.shape[2], -1)) * c ** -0.5  # [chosen, block, kv_heads, group, columns]
        old = torch.einsum("nbkgc,nskc->nbkgs", q, old_k[text])
        seen = torch.arange(context.shape[1])[None] <= at[:, None]
        scores = torch.cat([old.masked_fill(~seen[:, None, None, None], float("-inf")),
                            torch.einsum("nbkgc,nmkc->nbkgm", q, k)], -1)
        old_p, p = scores.softmax(-1).split([context.shape[1], y.shape[1]], -1)
        out = torch.einsum("nbkgs,nskc->nbkgc", old_p, old_v[text]) + torch.einsum("nbkgm,nmkc->nbkgc", p, v)
        return a.o(out.flatten(2))

    def levels(self, batch, rows):
        context = self.state_norm(self.fc(torch.cat([batch.state(h) for h in self.hooks], -1)))
        text, at = rows.nonzero(as_tuple=True)
        masks = self.target.embedding[-1].expand(len(at), DRAFTS, -1)
        x = torch.cat([batch.embedded(1)[rows][:, None], masks], 1)
        for i, layer in enumerate(self.layers):
            x = x + self.attend(i, layer.input_norm(x), context, text, at)
            x = x + layer.mlp(layer.mlp_norm(x))
        return x[:, 1:].unbind(1)

    def logits(self, states, batch):
        return F.linear(self.out_norm(states), batch.head)

    def config(self):
        own = {"mask_token_id": self.target.vocabulary - 1, "target_layer_ids": [h - 1 for h in self.hooks]}
        return llama_config(self.target, architectures=["DFlashDraftModel"], model_type="qwen3", num_hidden_layers=LAYERS,
                            block_size=DRAFTS + 1, num_target_layers=self.target.layers,
                            layer_types=["full_attention"] * LAYERS, dflash_config=own)

    def weights(self):
        w = {"fc.weight": self.fc.weight, "hidden_norm.weight": self.state_norm.weight,
             "norm.weight": self.out_norm.weight}
        for i, layer in enumerate(self.layers):
            name = "layers.%d." % i
            w.update(layer.as_llama(name))
            w[name + "self_attn.q_norm.weight"] = self.q_norm[i].weight
            w[name + "self_attn.k_norm.weight"] = self.k_norm[i].weight
        return w
