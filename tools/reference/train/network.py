# SPDX-License-Identifier: Apache-2.0
"""Parts of draft networks, with the decoder's conventions, and the weights of a Llama layer under two kinds of names."""
import torch
import torch.nn.functional as F
from target import angles, attended, causal, rms_norm, rotated
from torch import nn


class Norm(nn.Module):
    def __init__(self, columns, epsilon, groups=1):
        super().__init__()
        self.weight, self.epsilon, self.groups = nn.Parameter(torch.ones(columns)), epsilon, groups

    def forward(self, x):
        shape = (self.groups, -1)
        return rms_norm(x.unflatten(-1, shape), self.weight.view(shape), self.epsilon).flatten(-2)


class Attention(nn.Module):
    """Attention over a text, with rope; `inputs` columns. `steps` of earlier passes of the same row may follow the text's
    rows: row t sees the text up to t and, of each earlier pass, its own row (training-time test of EAGLE-3; HASS)."""

    def __init__(self, target, inputs=None):
        super().__init__()
        d, kv = target.hidden, target.kv_heads * target.head_dim
        self.q, self.k, self.v = (nn.Linear(inputs or d, n, bias=False) for n in (d, kv, kv))
        self.o = nn.Linear(d, d, bias=False)
        self.columns, self.base, self.rope = target.head_dim, target.rope_base, True

    def forward(self, x, past=None, shift=0):
        """`past`: keys and values of the passes before, [(k, v)]; this pass is added to it."""
        q, k, v = (p(x).unflatten(-1, (-1, self.columns)) for p in (self.q, self.k, self.v))
        if self.rope:
            at = angles(torch.arange(x.shape[1])[None] + shift, self.columns, self.base, x.dtype)
            q, k = rotated(q, at), rotated(k, at)
        past = [] if past is None else past
        past.append((k, v))
        rows = x.shape[1]
        mask = torch.cat([causal(rows)] + [torch.eye(rows, dtype=torch.bool)[None]] * (len(past) - 1), 2)
        return self.o(attended(q, torch.cat([p[0] for p in past], 1), torch.cat([p[1] for p in past], 1), mask))


class Mlp(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.gate, self.up = (nn.Linear(target.hidden, target.intermediate, bias=False) for _ in range(2))
        self.down = nn.Linear(target.intermediate, target.hidden, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    """A decoder layer. Without `input_norm` its attention reads `inputs` columns that are normed already."""

    def __init__(self, target, inputs=None, input_norm=True, mlp=True):
        super().__init__()
        self.input_norm = Norm(target.hidden, target.epsilon) if input_norm else None
        self.attention = Attention(target, inputs)
        self.mlp_norm = Norm(target.hidden, target.epsilon) if mlp else None
        self.prefix = None  # of as_named()
        self.mlp = Mlp(target) if mlp else None

    def forward(self, x, past=None, shift=0, read=None):
        """`read`: the attention's input where it is not the (normed) residual `x`."""
        y = read if read is not None else x if self.input_norm is None else self.input_norm(x)
        x = x + self.attention(y, past, shift)
        return x if self.mlp is None else x + self.mlp(self.mlp_norm(x))

    def start_from(self, target, layer):
        """With the weights of a layer of the target, as far as they fit."""
        own = {"input_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm"}
        own.update({"attention." + p: "self_attn.%s_proj" % p for p in "qkvo"})
        own.update({"mlp." + p: "mlp.%s_proj" % p for p in ("gate", "up", "down")})
        state = self.state_dict()
        for ours, theirs in own.items():
            value = target.w["model.layers.%d.%s.weight" % (layer, theirs)].float()
            if ours + ".weight" in state and state[ours + ".weight"].shape == value.shape:
                state[ours + ".weight"].copy_(value)
        return self

    def starts_as_identity(self):
        """Adds nothing to the residual at first."""
        nn.init.zeros_(self.attention.o.weight)
        if self.mlp is not None:
            nn.init.zeros_(self.mlp.down.weight)
        return self

    def as_llama(self, prefix):
        """Tensors by the names of transformers."""
        w = {prefix + "self_attn.%s_proj.weight" % p: getattr(self.attention, p).weight for p in "qkvo"}
        if self.input_norm is not None:
            w[prefix + "input_layernorm.weight"] = self.input_norm.weight
        if self.mlp is not None:
            w[prefix + "post_attention_layernorm.weight"] = self.mlp_norm.weight
            w.update({prefix + "mlp.%s_proj.weight" % p: getattr(self.mlp, p).weight for p in ("gate", "up", "down")})
        return w

    def as_named(self, prefix):
        """Tensors by the decoder's names, [in, out]."""
        self.prefix, a = prefix, self.attention
        w = {prefix + "qkv": torch.cat([a.q.weight, a.k.weight, a.v.weight]).T, prefix + "o": a.o.weight.T}
        if self.input_norm is not None:
            w[prefix + "input_norm"] = self.input_norm.weight
        if self.mlp is not None:
            w[prefix + "mlp_norm"] = self.mlp_norm.weight
            w[prefix + "gate_up"] = torch.cat([self.mlp.gate.weight, self.mlp.up.weight]).T
            w[prefix + "down"] = self.mlp.down.weight.T
        return w

    def take_named(self, stored):
        """The joined matrices of as_named(), which are no views of this layer's parameters."""
        a = self.attention
        parts = [(a.q, a.k, a.v, "qkv")] + ([] if self.mlp is None else [(self.mlp.gate, self.mlp.up, "gate_up")])
        for *linears, name in parts:
            rows = stored[self.prefix + name].T.split([linear.weight.shape[0] for linear in linears])
            for linear, values in zip(linears, rows):
                linear.weight.copy_(values)


class Residual(nn.Module):
    """Medusa's block: z + SiLU(W z + b), zero at first."""

    def __init__(self, columns):
        super().__init__()
        self.linear = nn.Linear(columns, columns)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, z):
        return z + F.silu(self.linear(z))
