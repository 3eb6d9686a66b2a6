# SPDX-License-Identifier: Apache-2.0
"""What drafters have in common, and their files."""
import json
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from network import Layer
from torch import nn

MOST_FILE = 15 << 20  # bytes of a file; larger checkpoints are stored in shards


def stored_in(folder):
    """The tensors that a drafter's save() wrote."""
    return {k: v for f in sorted(pathlib.Path(folder).glob("*.safetensors")) for k, v in load_file(f).items()}


class Drafter(nn.Module):
    options = {}  # of the method, for the decoder
    adapted = False  # whether it drafts for a target of its own, with which it is stored
    only_frequent = False  # whether it drafts none but frequent tokens

    def __init__(self, target, texts):
        super().__init__()
        self.target_, self.texts_ = [target], [texts]  # in lists: no parts of the module

    @property
    def target(self):
        return self.target_[0]

    ahead = 1  # places from the prediction of a state to that of its first draft
    decay = 1  # weight of a level's loss relative to that of the level before

    def levels(self, batch, rows):
        """Yields for each level the states [chosen, hidden] behind which a token is drafted, of the rows [texts, rows]
        that are chosen."""
        raise NotImplementedError

    def logits(self, states, batch):
        return F.linear(states, batch.head)

    def loss(self, batch):
        """The loss, and for each level the share of right drafts."""
        rows, losses = self.loss_rows(batch, batch.rows(self.ahead)), []
        for i, states in enumerate(self.levels(batch, rows)):
            known = batch.rows(self.ahead + i)
            losses.append(batch.loss(self.logits(states[known[rows]], batch), self.ahead + i, known & rows))
        return mean(losses, [self.decay ** i for i in range(len(losses))])

    def loss_rows(self, batch, rows):
        """The rows that enter the loss, a subset of `rows`."""
        return rows

    def best(self, batch, rows):
        """The drafted tokens of each level, [chosen], of the rows that are chosen."""
        return [batch.words[self.logits(states, batch).argmax(-1)] for states in self.levels(batch, rows)]

    def config(self):
        """config.json of the published format; None: the decoder's own names, for --drafter-weights."""
        return None

    def weights(self):
        raise NotImplementedError

    def save(self, folder, stem="model"):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        own = {k: (v.detach().bfloat16() if v.is_floating_point() else v).contiguous().clone()
               for k, v in self.weights().items()}
        shards, size = [{}], 0
        for name, value in own.items():
            if size > 0 and size + value.nbytes > MOST_FILE:
                shards.append({})
                size = 0
            shards[-1][name] = value
            size += value.nbytes
        if len(shards) == 1 or stem != "model":
            save_file(own, folder / (stem + ".safetensors"), {"format": "pt"})
        else:
            names = ["model-%05d-of-%05d.safetensors" % (i + 1, len(shards)) for i in range(len(shards))]
            for name, shard in zip(names, shards):
                save_file(shard, folder / name, {"format": "pt"})
            index = {"metadata": {"total_size": sum(v.nbytes for v in own.values())},
                     "weight_map": {k: n for n, shard in zip(names, shards) for k in shard}}
            (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
        if self.config() is not None:
            (folder / "config.json").write_text(json.dumps(self.config(), indent=1) + "\n")

    @torch.no_grad()
    def restore(self, folder):
        """The weights that save() wrote."""
        stored = stored_in(folder)
        own = {p.untyped_storage().data_ptr() for p in self.parameters()}
        for name, value in self.weights().items():
            if value.untyped_storage().data_ptr() in own:
                value.copy_(stored[name])
        for layer in self.modules():
            if isinstance(layer, Layer) and layer.prefix is not None:
                layer.take_named(stored)
        return self


def mean(losses, weights):
    """The weighted mean of (loss, share) pairs, and the shares."""
    return sum(w * loss for w, (loss, _) in zip(weights, losses)) / sum(weights), [share for _, share in losses]


def without_norm(target):
    """Factors [hidden] that take the weights of the target's final norm from a state: it will pass the norm again."""
    norm = target.norm.float()
    return norm.sign() / norm.abs().clamp(min=norm.abs().mean() / 10)


def llama_config(target, **more):
    """The keys of a Llama of the target's widths."""
    keys = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "rms_norm_eps",
            "rope_theta", "vocab_size", "max_position_embeddings", "bos_token_id", "eos_token_id")
    own = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 1, "hidden_act": "silu",
           "head_dim": target.head_dim, "dtype": "bfloat16", "tie_word_embeddings": False}
    own.update({k: target.config[k] for k in keys if k in target.config})
    return dict(own, **more)


