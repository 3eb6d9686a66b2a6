# SPDX-License-Identifier: Apache-2.0
"""Targets that draft for themselves: LayerSkip, S3D, SPACE and CLLM. The layers' matrices get low-rank adapters (LoRA, Hu et al.
2022), which are trained for right drafts and for the original target's distributions alike. The result is a checkpoint of
its own, target/, against which the method is lossless."""
import json
import pathlib

import torch
import torch.nn.functional as F
from drafter import Drafter
from safetensors.torch import load_file, save_file
from target import Target, causal, rms_norm
from torch import nn

RANK = 16
MATRICES = ["self_attn.%s_proj" % p for p in "qkvo"] + ["mlp.%s_proj" % p for p in ("gate", "up", "down")]


class Adapted(Target):
    """A target with other matrices {(layer, name): matrix}."""

    def __init__(self, target, matrices):
        self.__dict__.update(target.__dict__)
        self.matrices = matrices

    def matrix(self, i, name):
        return self.matrices[i, name]


class Tuned(Drafter):
    adapted = True

    def __init__(self, target, texts):
        super().__init__(target, texts)
        self.down, self.up = nn.ParameterDict(), nn.ParameterDict()
        for i in range(target.layers):
            for name in MATRICES:
                outputs, inputs = target.matrix(i, name).shape
                key = self.key(i, name)
                self.down[key] = nn.Parameter(torch.randn(RANK, inputs) / inputs ** 0.5)
                self.up[key] = nn.Parameter(torch.zeros(outputs, RANK))

    @staticmethod
    def key(i, name):
        return "%d_%s" % (i, name.replace(".", "_"))

    def network(self):
        """The target with its adapters, whose matrices are rounded as they are stored."""
        def matrix(i, name):
            own = self.target.matrix(i, name)
            whole = own + (self.up[self.key(i, name)] @ self.down[self.key(i, name)]).to(own.dtype)
            return whole + (whole.bfloat16().to(whole.dtype) - whole).detach()
        return Adapted(self.target, {(i, name): matrix(i, name) for i in range(self.target.layers) for name in MATRICES})

    def main_pass(self, batch):
        """The network, its states before each layer and after the last, and each layer's keys and values."""
        network, kept = self.network(), {}

        def cache(i, k, v):
            kept[i] = k, v
            return k, v

        rows = batch.tokens.shape[1]
        rope, mask, states = network.rope(torch.arange(rows)[None]), causal(rows), [network.embedding[batch.tokens]]
        for i in range(network.layers):
            states.append(network.layer(i, states[-1], rope, mask, cache))
        self.final = self.normed(states[-1])
        return network, states, kept

    def normed(self, states):
        return rms_norm(states, self.target.norm, self.target.epsilon)

    def loss(self, batch):
        """Adds the loss against the original target's predictions. The last share is that of rows with the same best token."""
        loss, shares = super().loss(batch)
        rows = batch.rows(0)
        kept, share = batch.loss(self.logits(self.final[rows], batch), 0, rows)
        return loss + kept, shares + [share]

    def weights(self):
        return {}

    def save(self, folder):
        folder = pathlib.Path(folder)
        (folder / "target").mkdir(parents=True, exist_ok=True)
        with torch.no_grad():
            own = {"model.layers.%d.%s.weight" % place: m for place, m in self.network().matrices.items()}
        tensors = {k: v.bfloat16().contiguous().clone() for k, v in dict(self.target.w, **own).items()}
        save_file(tensors, folder / "target/model.safetensors", {"format": "pt"})
        (folder / "target/config.json").write_text(json.dumps(self.target.config, indent=1) + "\n")
        if self.weights():
            super().save(folder)
        save_file({k: v.detach().clone() for k, v in self.state_dict().items()}, folder / "adapters.pt")

    def restore(self, folder):
        self.load_state_dict(load_file(pathlib.Path(folder) / "adapters.pt"))
        return self


class LayerSkip(Tuned):
    """Elhoushi et al. 2024, section 4, with the loss of the exit that drafts alone, and no layer dropout."""
    ahead = 0

    def __init__(self, target, texts):
        super().__init__(target, texts)
        self.options = {"exit": max(1, round(target.layers * 8 / 30))}

    def levels(self, batch, rows):
        _, states, _ = self.main_pass(batch)
        yield self.normed(states[self.options["exit"]])[rows]


class Grouped(Tuned):
    """Further tokens pass behind chosen rows, in groups that attend to their row's text and to the tokens before them.
    `roots`: whether a group begins with its row's own token."""
    roots, positions, share = True, 3, 0.25

    def __init__(self, target, texts):
        super().__init__(target, texts)
        self.drafting_layers = range(target.layers)

    def loss_rows(self, batch, rows):
        """A share of the rows, drawn anew for each batch."""
        return rows & (torch.rand(rows.shape) < self.share)

    def groups(self, batch, rows):
        """The network; the chosen rows of each text, in order, and behind them others, which fill up, [texts, most]; and
        a function from the embeddings of groups, [texts, most, positions, hidden], to their final states."""
        network, _, kept = self.main_pass(batch)
        texts, length = batch.tokens.shape
        most = max(1, int(rows.sum(1).max()))
        order = torch.argsort(~rows, dim=1, stable=True)[:, :most]
        g = self.positions
        places = (order[:, :, None] + torch.arange(g) + (0 if self.roots else 1)).flatten(1)
        last = (order - (1 if self.roots else 0))[:, :, None, None]  # of the text that a group sees
        text = (torch.arange(length) <= last).expand(texts, most, g, length).flatten(1, 2)
        group = torch.kron(torch.eye(most), torch.ones(g, g).tril()).bool().expand(texts, -1, -1)
        mask, rope = torch.cat([text, group], 2), network.rope(places)

        def cache(i, k, v):
            return torch.cat([kept[i][0], k], 1), torch.cat([kept[i][1], v], 1)

        def run(x):
            x = x.flatten(1, 2)
            for i in self.drafting_layers:
                x = network.layer(i, x, rope, mask, cache)
            return self.normed(x).unflatten(1, (most, g))

        return network, order, run


class Masked(Grouped):
    """Mask tokens behind a row predict its drafts."""
    mask_name = ""

    def __init__(self, target, texts):
        super().__init__(target, texts)
        self.mask = nn.Parameter(target.embedding.float().mean(0))

    def levels(self, batch, rows):
        network, order, run = self.groups(batch, rows)
        x = self.mask.to(network.embedding.dtype).expand(*order.shape, self.positions, -1)
        if self.roots:
            x = torch.cat([network.embedding[batch.tokens.gather(1, order)][:, :, None], x[:, :, 1:]], 2)
        return run(x)[rows.gather(1, order)].unbind(1)

    def weights(self):
        return {self.mask_name: self.mask}


class S3d(Masked):
    """Zhong and Bharadwaj 2024, section 3: the root and masks through the first and the last layers."""
    ahead, positions, mask_name = 0, 4, "s3d.mask"

    def __init__(self, target, texts):
        super().__init__(target, texts)
        n = target.layers
        each = max(1, round(n * 7 / 30))
        self.drafting_layers = [*range(each), *range(n - each, n)]
        self.options = {"draft_length": self.positions, "skip": "%d->%d" % (each, n - each + 1)}


class Space(Masked):
    """Yi et al. 2024, section 3: masks behind each row through all layers."""
    roots, mask_name = False, "space.mask"
    options = {"draft_length": 3}


class Cllm(Grouped):
    """Kou et al. 2024, section 3: a block of guesses settles sooner. Wherever Jacobi decoding has brought the guesses, the
    network shall predict what it predicts behind the right tokens. Blocks are of text that the target would write itself.
    The trajectory is that of the network in training, and its loss weighs as much as the one against the original's
    predictions (theirs: a tenth)."""
    ahead, positions = 0, 16
    most_settled = 3  # iterations of a block before its loss
    options = {"block": positions}

    def loss_rows(self, batch, rows):
        every = torch.ones_like(rows)
        best = batch.words[batch.wanted(0, every).argmax(-1)].view(rows.shape)
        own = F.pad(best[:, :-1] == batch.tokens[:, 1:], (0, self.positions))
        runs = own.unfold(1, self.positions - 1, 1)[:, :rows.shape[1]].all(-1)
        return super().loss_rows(batch, rows & runs)

    def levels(self, batch, rows):
        network, order, run = self.groups(batch, rows)
        drawn = torch.rand(*order.shape, self.positions - 1) * (order[:, :, None] + 1)
        guesses = batch.tokens.gather(1, drawn.long().flatten(1)).view(drawn.shape)  # of the text before

        def states():
            root = batch.tokens.gather(1, order)[:, :, None]
            return run(network.embedding[torch.cat([root, guesses], 2)])

        with torch.no_grad():
            for _ in range(int(torch.randint(self.most_settled + 1, ()))):
                guesses = batch.words[self.logits(states(), batch).argmax(-1)][:, :, :-1]
        return states()[rows.gather(1, order)].unbind(1)
