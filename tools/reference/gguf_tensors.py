# SPDX-License-Identifier: Apache-2.0
"""Tensors of a Llama from a GGUF file as transformers names and orders them, and folders and files of them."""
import json

import numpy as np

LAYER = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
WHOLE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def name_of(gguf_name):
    stem, kind = gguf_name.rsplit(".", 1)
    if stem in WHOLE:
        return "%s.%s" % (WHOLE[stem], kind)
    _, layer, own = stem.split(".")
    return "model.layers.%s.%s.%s" % (layer, LAYER[own], kind)


def paired(values, heads):
    """Rows of each head with the two that rope rotates together side by side, as llama.cpp's converter stores them."""
    return values.reshape(heads, 2, -1, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def unpaired(values, heads):
    return values.reshape(heads, -1, 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def heads_of(name, config):
    """Of a tensor whose rows llama.cpp reorders; else None."""
    if ".q_proj." in name:
        return config["num_attention_heads"]
    return config["num_key_value_heads"] if ".k_proj." in name else None


def to_bf16(values):
    """The nearest bf16 numbers, ties to even, as 16-bit words."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(words):
    return (words.astype(np.uint32) << 16).view(np.float32)


def write_safetensors(path, words):
    """`words`: 16-bit words of bf16 numbers by name."""
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, values in words.items():
        header[name] = {"dtype": "BF16", "shape": list(values.shape), "data_offsets": [end, end + values.nbytes]}
        end += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in words.values():
            file.write(values.tobytes())


def read_safetensors(path):
    raw = np.memmap(path, np.uint8)
    size = int.from_bytes(raw[:8].tobytes(), "little")
    entries = json.loads(raw[8:8 + size].tobytes())
    return {name: from_bf16(raw[8 + size:][slice(*e["data_offsets"])].view(np.uint16)).reshape(e["shape"])
            for name, e in entries.items() if name != "__metadata__"}


def write_gguf(path, folder, kind, words_of=None):
    """The folder's network in `kind` ("F32", "F16" ..), with the tokenizer of the GGUF file `words_of`, or with none. Returns
    the largest difference of a value."""
    import gguf
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    if words_of is None:
        writer.add_tokenizer_model("none")
    else:
        for field in gguf.GGUFReader(words_of).fields.values():
            if field.name.startswith("tokenizer."):
                writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=field.types[-1])
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    matrices = gguf.GGMLQuantizationType[kind]
    lost = 0
    for name, values in read_safetensors(folder / "model.safetensors").items():
        heads = heads_of(name, config)
        values = values if heads is None else paired(values, heads)
        of = matrices if values.ndim > 1 else gguf.GGMLQuantizationType.F32
        stored = gguf.quants.quantize(np.ascontiguousarray(values), of)
        lost = max(lost, float(np.abs(gguf.quants.dequantize(stored, of) - values).max()))
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), stored, raw_dtype=of)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return lost
