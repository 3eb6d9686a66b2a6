#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/fixtures/gguf: the small random networks of tests/fixtures as llama.cpp's converter would store them, and
random blocks of every type beside the values that the gguf package gives them.

Needs exactly these versions (a virtual environment outside the repository):
    pip install --only-binary :all: gguf==0.19.0 numpy==2.4.6 xllamacpp==2026.10.11549
Use:
    python tools/reference/make_gguf_fixtures.py [FOLDER]

The network's names come from gguf's own table. llama.cpp loads each file (its matrices in F32, because it rounds
activations to a matrix' format) and its logits are compared with those of transformers (expected.safetensors), so that
a row in a wrong place fails here."""
import importlib.metadata
import json
import pathlib
import sys
import tempfile

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

import llama_cpp

PINNED = {"gguf": "0.19.0", "numpy": "2.4.6", "xllamacpp": "2026.10.11549"}
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent / "tests/fixtures"
NETWORKS = {"llama": "llama", "mistral": "llama", "mixtral": "llama", "qwen2": "qwen2", "qwen3": "qwen3",
            "qwen3_moe": "qwen3moe", "seed_oss": "seed_oss", "olmo2": "olmo2", "ernie4_5": "ernie4_5"}
BLOCKS = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K")
HALVES = {"Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,), "Q4_K": (0, 2), "Q5_K": (0, 2),
          "Q6_K": (208,)}  # where a block has its fp16 factors
MOST_DIFFERENCE = 2e-5   # of logits of size 5: fp32 in another order of additions
SEED = 20261128


def stored(folder):
    """The tensors of a folder and the type of its matrices."""
    tensors, types = {}, set()
    for file in sorted(folder.glob("model*.safetensors")):
        raw = file.read_bytes()
        size = int.from_bytes(raw[:8], "little")
        for name, entry in json.loads(raw[8:8 + size]).items():
            if name == "__metadata__":
                continue
            data = np.frombuffer(raw, np.uint8, offset=8 + size)[slice(*entry["data_offsets"])]
            if entry["dtype"] == "BF16":
                values = (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
            else:
                values = data.view({"F32": np.float32, "F16": np.float16}[entry["dtype"]]).astype(np.float32)
            tensors[name] = values.reshape(entry["shape"])
            types.add(entry["dtype"])
    return tensors, types.pop()


def side_by_side(values, heads):
    """The rows of each head in the order in which llama.cpp's rope rotates them: the two of a pair together."""
    return values.reshape(heads, 2, -1, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def stacked(tensors):
    """One tensor for the matrices of all experts, as llama.cpp has them."""
    result, experts = {}, {}
    for name, values in tensors.items():
        if ".experts." not in name:
            result[name] = values
            continue
        start, rest = name.split(".experts.")
        number, matrix, _ = rest.split(".")
        start = start.replace("model.", "").replace("block_sparse_moe", "feed_forward") if matrix[0] == "w" else start
        experts.setdefault("%s.experts.%s.weight" % (start, matrix), {})[int(number)] = values
    return result | {name: np.stack([e[i] for i in range(len(e))]) for name, e in experts.items()}


def llama3_factors(scaling, theta, columns):
    """What a frequency is divided by (Llama 3.1)."""
    waves = 2 * np.pi * theta ** (np.arange(0, columns, 2) / columns)
    turns = scaling["original_max_position_embeddings"] / waves
    low, high, factor = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["factor"]
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return (1 / ((1 - kept) / factor + kept)).astype(np.float32)


def write_network(path, network, single):
    folder, arch = ROOT / network, NETWORKS[network]
    config = json.loads((folder / "config.json").read_text())
    tensors, dtype = stored(folder)
    matrices = Type.F32 if single else Type[dtype]
    writer = gguf.GGUFWriter(path, arch)
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    rope = config.get("rope_parameters") or config
    scaling = config.get("rope_scaling") or {}
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    experts = config.get("num_local_experts") or config.get("num_experts")
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(config["num_experts_per_tok"])
        if "moe_intermediate_size" in config:
            writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if scaling.get("rope_type") == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])
    if scaling.get("rope_type") == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_factors(scaling, rope["rope_theta"], head_dim))
    writer.add_tokenizer_model("none")
    known = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(known[arch], config["num_hidden_layers"])
    for name, values in stacked(tensors).items():
        own = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if own is None:
            sys.exit("%s: gguf has no name for %s" % (network, name))
        if arch == "llama" and ".attn_q." in own:
            values = side_by_side(values, heads)
        if arch == "llama" and ".attn_k." in own:
            values = side_by_side(values, kv_heads)
        kind = matrices if values.ndim > 1 and "gate_inp" not in own else Type.F32
        writer.add_tensor(own, gguf.quants.quantize(np.ascontiguousarray(values), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check_network(network):
    """llama.cpp's largest difference from transformers' logits."""
    raw = (ROOT / network / "expected.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    entries = json.loads(raw[8:8 + size])
    prompts = json.loads((ROOT / network / "expected.json").read_text())["prompts"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "single.gguf"
        write_network(path, network, True)
        theirs = llama_cpp.Network(path)
        worst = 0
        for i, prompt in enumerate(prompts):
            data = np.frombuffer(raw, np.uint8, offset=8 + size)[slice(*entries["logits.%d" % i]["data_offsets"])]
            theirs.restart()
            found = theirs.logits(prompt)
            worst = max(worst, float(np.abs(found - data.view(np.float32).reshape(found.shape)).max()))
    return worst


def write_blocks(path):
    random = np.random.default_rng(SEED)
    writer = gguf.GGUFWriter(path, "blocks")
    for name in BLOCKS:
        values, size = gguf.GGML_QUANT_SIZES[Type[name]]
        rows, blocks = 2, 2 * 256 // values
        if name in HALVES:
            raw = random.integers(0, 256, (rows, blocks, size), dtype=np.uint8)
            for at in HALVES[name]:
                factors = random.normal(0, 0.05, (rows, blocks)).astype(np.float16)
                raw[:, :, at:at + 2] = factors[..., None].view(np.uint8)
            raw = raw.reshape(rows, blocks * size)
        else:
            raw = gguf.quants.quantize(random.normal(0, 1, (rows, 512)).astype(np.float32), Type[name])
        writer.add_tensor(name, raw, raw_dtype=Type[name])
        writer.add_tensor(name + ".expected", gguf.quants.dequantize(raw, Type[name]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    installed = {name: importlib.metadata.version(name) for name in PINNED}
    if installed != PINNED:
        sys.exit("pinned versions are %s, installed are %s" % (PINNED, installed))
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "gguf"
    folder.mkdir(exist_ok=True)
    write_blocks(folder / "blocks.gguf")
    for network in NETWORKS:
        worst = check_network(network)
        print("%s: llama.cpp and transformers differ by %.1e" % (network, worst))
        if not worst < MOST_DIFFERENCE:
            sys.exit(1)
        write_network(folder / (network + ".gguf"), network, False)


if __name__ == "__main__":
    main()
