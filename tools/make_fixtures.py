#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/fixtures: small random networks as Hugging Face transformers saves them, and the logits it computes.

Needs Python 3.11 and exactly these versions (a virtual environment outside the repository):
    pip install torch==2.7.1 transformers==4.57.6 safetensors==0.6.2 numpy==2.2.6
and for the networks that only transformers 5 knows:
    pip install torch==2.15.0 transformers==5.23.0 safetensors==0.8.0 numpy==2.4.6
With either, the networks of those versions are made.
Use:
    python tools/make_fixtures.py [FOLDER [NETWORK ..]]  default: all, in tests/fixtures beside this script's folder

Each folder holds config.json, the weights (one file or shards), expected.json (prompts, versions, errors) and
expected.safetensors (logits.0, logits.1: [tokens, vocabulary], fp32). The logits are computed twice on the stored
weights: in fp32, and with every operation in fp64, rope's angles and the softmax included, which is checked as it runs.
The fp64 result, rounded to fp32, is what is stored; the largest error of fp32 against it is written to expected.json:
what another correct fp32 implementation may differ by is of that order.
"""
import json
import pathlib
import shutil
import sys
from unittest import mock

import torch
import transformers
import transformers.integrations.mxfp4
from safetensors.torch import load_file, save_file
from torch.utils._python_dispatch import TorchDispatchMode

from fixture_networks import NETWORKS, NEWER, PINNED, USED, VOCABULARY

SEED = 20240711
PROMPT_LENGTHS = (37, 5)


def randomise(network, generator, norms_less_one=False):
    """Every weight anew: the library's own start has norms of one and biases of zero, which would hide mistakes."""
    with torch.no_grad():
        for name, weight in sorted(network.named_parameters()):
            noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
            scales = ("norm.weight", "norm_1.weight", "norm_2.weight", "norm_f.weight", "router.scale", "per_expert_scale")
            if name.endswith(scales):
                weight.copy_((0 if norms_less_one and "linear_attn" not in name else 1) + 0.2 * noise)
            elif name.endswith(".bias"):
                weight.copy_(0.3 * noise)
            elif name.endswith(("embed_tokens.weight", "model.embeddings.weight")):
                weight.copy_(0.5 * noise)
            else:
                weight.copy_(noise * weight.shape[-1] ** -0.5)
        for name, values in sorted(network.named_buffers()):
            if name.endswith("e_score_correction_bias"):
                values.copy_(0.3 * torch.randn(values.shape, generator=generator, dtype=torch.float64))
            elif name.endswith("layer_scalar"):
                values.copy_(1 + 0.3 * torch.randn(values.shape, generator=generator, dtype=torch.float64))


def in_mxfp4(network, generator):
    """Gives the experts' matrices values that MXFP4 holds, as transformers reads them; returns the blocks and scales."""
    stored = {}
    for name, weight in network.named_parameters():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            experts, inputs, outputs = weight.shape
            blocks = torch.randint(256, (experts, outputs, inputs // 32, 16), generator=generator, dtype=torch.uint8)
            scales = torch.randint(121, 126, blocks.shape[:3], generator=generator, dtype=torch.uint8)
            with torch.no_grad():
                weight.copy_(transformers.integrations.mxfp4.convert_moe_packed_tensors(blocks, scales))
            stored |= {name + "_blocks": blocks, name + "_scales": scales}
    return stored


def store_instead(folder, packed):
    """Of each X_blocks and X_scales of `packed` the folder holds these, and X no more."""
    kept = {k: v for k, v in load_file(folder / "model.safetensors").items() if k + "_blocks" not in packed}
    save_file(kept | packed, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = dict(quant_method="mxfp4", modules_to_not_convert=[
        "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"])
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def store_inputs_first(folder):
    """Turns the stacked matrices of experts."""
    stored = load_file(folder / "model.safetensors")
    for name in stored:
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            stored[name] = stored[name].transpose(1, 2).contiguous()
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})


class OnlyDouble(TorchDispatchMode):
    """Refuses to run an operation that makes floats other than fp64."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in torch.utils._pytree.tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and tensor.dtype != torch.float64:
                raise RuntimeError(f"{func} made {tensor.dtype}")
        return result


# Plain loops, not fused kernels, which lack fp64.
PLAIN = dict(attn_implementation="eager") | (dict(experts_implementation="eager") if USED == NEWER else {})


def load(entry, folder, dtype):
    network = entry["make"].from_pretrained(folder, dtype=dtype, **PLAIN)
    return network.eval()


def logits_of(network, prompts):
    with torch.no_grad():
        return [network(torch.tensor([p]), use_cache=False).logits[0] for p in prompts]


def logits_in_double(entry, folder, prompts):
    stored = load(entry, folder, torch.float64).state_dict()
    single, double = torch.float32, torch.float64
    # The library asks for fp32 by name in norms, softmax and rope: under these names it gets fp64.
    with mock.patch.object(torch, "float32", double), mock.patch.object(torch, "float", double), \
            mock.patch.object(torch.Tensor, "float", torch.Tensor.double):
        torch.set_default_dtype(double)
        try:
            with OnlyDouble():
                config = transformers.AutoConfig.from_pretrained(folder, **PLAIN)
                config.dtype = None
                network = entry["make"](config)
                network.load_state_dict(stored)
                return logits_of(network.eval(), prompts)
        finally:
            torch.set_default_dtype(single)


def make(name, entry, root, generator):
    folder = root / name
    if folder.exists():
        shutil.rmtree(folder)
    torch.manual_seed(SEED)
    network = entry["make"](entry["config"])
    randomise(network, generator, entry.get("norms_less_one", False))
    packed = in_mxfp4(network, generator) if entry.get("mxfp4") else None
    network.to(entry["dtype"])
    network.save_pretrained(folder, safe_serialization=True, max_shard_size=entry.get("shard", "1GB"),
                            **entry.get("saved", {}))
    (folder / "generation_config.json").unlink(missing_ok=True)

    prompts = [torch.randint(3, VOCABULARY, (n,), generator=generator).tolist() for n in PROMPT_LENGTHS]
    single = logits_of(load(entry, folder, torch.float32), prompts)
    double = logits_in_double(entry, folder, prompts)
    error = max((s.double() - d).abs().max().item() for s, d in zip(single, double))
    size = max(d.abs().max().item() for d in double)
    if packed:
        store_instead(folder, packed)
    if entry.get("inputs_first"):
        store_inputs_first(folder)
    save_file({f"logits.{i}": d.float().contiguous() for i, d in enumerate(double)}, folder / "expected.safetensors")
    expected = dict(made_by="tools/make_fixtures.py", versions=USED, seed=SEED, prompts=prompts,
                    largest_logit=size, largest_error_of_fp32=error)
    (folder / "expected.json").write_text(
        "{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in expected.items()) + "\n}\n")
    total = sum(f.stat().st_size for f in folder.iterdir())
    print(f"{name:10} {total / 1000:6.0f} kB   |logit| <= {size:.2f}   fp32 against fp64: {error:.1e}")


def main():
    if USED not in (PINNED, NEWER):
        sys.exit(f"pinned versions are {PINNED} or {NEWER}, installed are {USED}")
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "tests/fixtures")
    root.mkdir(parents=True, exist_ok=True)
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name in sys.argv[2:] or NETWORKS:
        make(name, NETWORKS[name], root, torch.Generator().manual_seed(SEED))


if __name__ == "__main__":
    main()
