# SPDX-License-Identifier: Apache-2.0
"""The frozen target, a Llama in PyTorch: hidden states that drafters read, and texts that it writes."""
import json
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import load_file


def rms_norm(x, weight, epsilon):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)).to(x.dtype) * weight.to(x.dtype)


def angles(positions, columns, base, dtype):
    """Cosines and sines of rope for heads of so many columns, at `positions` [..]: [.., 1, columns / 2] each."""
    half = columns // 2
    angle = positions[..., None, None].float() / base ** (torch.arange(half) / half)
    return angle.cos().to(dtype), angle.sin().to(dtype)


def rotated(x, rope):
    """`x` [.., heads, columns] with rope of halves, by the result of angles()."""
    cos, sin = rope
    low, high = x.chunk(2, -1)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)


def attended(q, k, v, mask):
    """`q` [sequences, rows, heads, columns], `k`, `v` [sequences, all rows, kv_heads, columns]: the result [sequences,
    rows, heads * columns]. `mask` [sequences or 1, rows, all rows] is true where a row is seen."""
    n, rows, heads, columns = q.shape
    group = heads // k.shape[2]
    q = q.unflatten(2, (-1, group)).permute(0, 2, 3, 1, 4).flatten(2, 3)  # [n, kv_heads, group * rows, columns]
    scores = (q * columns ** -0.5) @ k.permute(0, 2, 3, 1)
    scores = scores.unflatten(2, (group, rows)).masked_fill(~mask[:, None, None], float("-inf"))
    out = scores.softmax(-1).flatten(2, 3) @ v.transpose(1, 2)
    return out.unflatten(2, (group, rows)).permute(0, 3, 1, 2, 4).reshape(n, rows, heads * columns)


def causal(rows):
    """The mask of a text: each row sees itself and those before."""
    return torch.ones(1, rows, rows, dtype=torch.bool).tril()


def wanted_layers(target):
    """Layers whose input some drafter reads: EAGLE-3's three (the first is Kangaroo's exit too), SpecFormer's middle one
    (of a target of 30 layers the same as EAGLE-3's) and last one."""
    n = target.layers
    return sorted({2, n // 2, n - 3, n - 1})


class Target:
    def __init__(self, folder, dtype=torch.bfloat16):
        self.config = json.loads((pathlib.Path(folder) / "config.json").read_text())
        self.w = {k: v.to(dtype) for k, v in load_file(pathlib.Path(folder) / "model.safetensors").items()}
        c = self.config
        self.layers, self.hidden, self.vocabulary = c["num_hidden_layers"], c["hidden_size"], c["vocab_size"]
        self.heads, self.kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
        self.head_dim, self.intermediate = self.hidden // self.heads, c["intermediate_size"]
        self.epsilon, self.rope_base = c["rms_norm_eps"], c.get("rope_theta", 10000.0)
        self.embedding = self.w["model.embed_tokens.weight"]
        self.head = self.w.get("lm_head.weight", self.embedding)
        self.norm = self.w["model.norm.weight"]

    def matrix(self, i, name):
        return self.w["model.layers.%d.%s.weight" % (i, name)]

    def rope(self, positions, dtype=None):
        return angles(positions, self.head_dim, self.rope_base, dtype or self.embedding.dtype)

    def layer(self, i, x, rope, mask, cache):
        """`x` [sequences, rows, hidden]; `cache`: adds keys and values of layer `i`, and returns those of all rows."""
        w = lambda name: self.matrix(i, name)  # noqa: E731
        norm = lambda x, name: rms_norm(x, self.w["model.layers.%d.%s.weight" % (i, name)], self.epsilon)  # noqa: E731
        y = norm(x, "input_layernorm")
        q, k, v = (F.linear(y, w("self_attn.%s_proj" % p)).unflatten(-1, (-1, self.head_dim)) for p in "qkv")
        q, k = rotated(q, rope), rotated(k, rope)
        k, v = cache(i, k, v)
        x = x + F.linear(attended(q, k, v, mask), w("self_attn.o_proj"))
        y = norm(x, "post_attention_layernorm")
        return x + F.linear(F.silu(F.linear(y, w("mlp.gate_proj"))) * F.linear(y, w("mlp.up_proj")),
                            w("mlp.down_proj"))

    @torch.no_grad()
    def states(self, tokens, wanted=(), positions=None, mask=None, cache=lambda i, k, v: (k, v)):
        """The states [sequences, rows, hidden] that enter the `wanted` layers, and in the end the one after the final
        norm (layer `layers`)."""
        mask = causal(tokens.shape[1]) if mask is None else mask
        rope = self.rope(torch.arange(tokens.shape[1])[None] if positions is None else positions)
        x, found = self.embedding[tokens], {}
        for i in range(self.layers):
            if i in wanted:
                found[i] = x
            x = self.layer(i, x, rope, mask, cache)
        found[self.layers] = rms_norm(x, self.norm, self.epsilon)
        return found

    @torch.no_grad()
    def continued(self, prompts, count, end, temperature, generator, wanted=()):
        """Yields for each of `prompts` its text, which has `count` tokens at most up to and with `end`, and the states
        of all its tokens but the last, [tokens, wanted + 1, hidden]. Greedy where `temperature` is 0."""
        longest, n = max(map(len, prompts)), len(prompts)
        total, layers = longest + count, list(wanted) + [self.layers]
        tokens = torch.zeros(n, longest, dtype=torch.long)
        seen = torch.zeros(n, total, dtype=torch.bool)
        for i, p in enumerate(prompts):
            tokens[i, longest - len(p):] = torch.tensor(p)
            seen[i, longest - len(p):longest] = True
        start = torch.tensor([longest - len(p) for p in prompts])[:, None]
        kept = torch.empty(2, self.layers, n, total, self.kv_heads, self.head_dim, dtype=self.embedding.dtype)
        states = torch.empty(n, total, len(layers), self.hidden, dtype=self.embedding.dtype)
        done = 0

        def cache(i, k, v):
            rows = done + k.shape[1]
            for of, new in zip(kept, (k, v)):
                of[i, :, done:rows] = new
            return kept[0, i, :, :rows], kept[1, i, :, :rows]

        def step(tokens, mask):
            nonlocal done
            rows = done + torch.arange(tokens.shape[1])
            found = self.states(tokens, wanted, (rows[None] - start).clamp(min=0), mask, cache)
            done += tokens.shape[1]
            for i, layer in enumerate(layers):
                states[:, rows, i] = found[layer]
            return found[self.layers][:, -1]

        state = step(tokens, (causal(longest) & seen[:, None, :longest]) | torch.eye(longest, dtype=torch.bool))
        texts, open_ = [[] for _ in prompts], torch.ones(n, dtype=torch.bool)
        while True:
            logits = F.linear(state, self.head).float()
            chosen = logits.argmax(-1)
            if temperature > 0:
                chosen = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)[:, 0]
            for i in open_.nonzero()[:, 0].tolist():
                texts[i].append(int(chosen[i]))
            open_ &= chosen != end
            if not open_.any() or done + 1 >= total:
                break
            seen[:, done] = True
            state = step(chosen[:, None], seen[:, None, :done + 1])
        for i, text in enumerate(texts):
            first = int(start[i])
            yield text, states[i, first:longest + len(text) - 1]
