#!/usr/bin/env python3
"""Writes a model folder (config.json, model.safetensors in BF16, tokenizer.json) as a GGUF file of the same weights.

  write_gguf.py FOLDER FILE.gguf

For the families that are compared: llama and minimind (architecture "llama", whose q and k rows GGUF keeps in another
order) and qwen2. Matrices stay BF16, vectors become F32. Needs nothing but Python.
"""

import json
import math
import mmap
import pathlib
import re
import struct
import sys

_VERSION = 3
_ALIGNMENT = 32

# Value types of the format's metadata.
_UINT32, _FLOAT32, _BOOL, _STRING, _ARRAY, _INT32 = 4, 6, 7, 8, 9, 5
# Tensor types.
_F32, _BF16 = 0, 30
_FILE_TYPE_BF16 = 32
_TOKEN_NORMAL, _TOKEN_CONTROL = 1, 3

_ARCHITECTURES = {"llama": "llama", "minimind": "llama", "qwen2": "qwen2"}

_TOP_NAMES = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}
_LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name):
    """The name of a tensor of transformers in GGUF."""
    if name in _TOP_NAMES:
        return _TOP_NAMES[name]
    match = re.fullmatch(r"model\.layers\.(\d+)\.(.+)\.(weight|bias)", name)
    if not match or match.group(2) not in _LAYER_NAMES:
        raise ValueError(f"tensor {name} has no name in GGUF")
    return f"blk.{match.group(1)}.{_LAYER_NAMES[match.group(2)]}.{match.group(3)}"


def interleave_rows(data, heads, head_dim):
    """Puts the two halves of each head's rows side by side: row (h, s, i) becomes (h, i, s)."""
    head_bytes = len(data) // heads
    row = head_bytes // head_dim
    half = head_bytes // 2
    out = bytearray(len(data))
    for head in range(heads):
        begin = head * head_bytes
        for i in range(half // row):
            for s in range(2):
                source = begin + s * half + i * row
                target = begin + (2 * i + s) * row
                out[target:target + row] = data[source:source + row]
    return bytes(out)


def bf16_to_f32(data):
    """The same numbers: a BF16 is the upper half of an F32."""
    out = bytearray(2 * len(data))
    out[2::4] = data[0::2]
    out[3::4] = data[1::2]
    return bytes(out)


def llama3_rope_factors(config):
    """What divides the rotation frequencies with RoPE type llama3: rope_freqs of GGUF, [head_dim / 2]. Empty without it."""
    scaling = config.get("rope_scaling") or {}
    kind = scaling.get("rope_type", "default")
    if kind != "llama3":
        if kind != "default":
            raise ValueError(f"rope_type is {kind}, must be default or llama3")
        return []
    head_dim, original = _head_dim(config), scaling["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    factors = []
    for i in range(head_dim // 2):
        turns = original / (2 * math.pi * config["rope_theta"]**(2 * i / head_dim))  # in the original length
        share = min(max((turns - low) / (high - low), 0), 1)  # that is not stretched
        factors.append(1 / (share + (1 - share) / scaling["factor"]))
    return factors


def _head_dim(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


class Metadata:
    """The key-value part of a file, as bytes."""

    def __init__(self):
        self.count = 0
        self.bytes = bytearray()

    def _key(self, key, value_type):
        self.count += 1
        self.bytes += _string(key) + struct.pack("<I", value_type)

    def text(self, key, value):
        self._key(key, _STRING)
        self.bytes += _string(value)

    def number(self, key, value):
        self._key(key, _FLOAT32 if isinstance(value, float) else _UINT32)
        self.bytes += struct.pack("<f" if isinstance(value, float) else "<I", value)

    def boolean(self, key, value):
        self._key(key, _BOOL)
        self.bytes += struct.pack("<?", value)

    def texts(self, key, values):
        self._key(key, _ARRAY)
        self.bytes += struct.pack("<IQ", _STRING, len(values)) + b"".join(map(_string, values))

    def int32s(self, key, values):
        self._key(key, _ARRAY)
        self.bytes += struct.pack(f"<IQ{len(values)}i", _INT32, len(values), *values)


def _string(text):
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def model_metadata(config, tokenizer):
    """What config.json and tokenizer.json say, in GGUF's keys."""
    architecture = _ARCHITECTURES[config["model_type"]]
    metadata = Metadata()
    metadata.text("general.architecture", architecture)
    metadata.text("general.name", "random weights")
    metadata.number("general.file_type", _FILE_TYPE_BF16)
    for key, value in (
            ("context_length", config["max_position_embeddings"]),
            ("embedding_length", config["hidden_size"]),
            ("block_count", config["num_hidden_layers"]),
            ("feed_forward_length", config["intermediate_size"]),
            ("attention.head_count", config["num_attention_heads"]),
            ("attention.head_count_kv", config["num_key_value_heads"]),
            ("attention.layer_norm_rms_epsilon", float(config["rms_norm_eps"])),
            ("rope.freq_base", float(config["rope_theta"])),
            ("rope.dimension_count", _head_dim(config)),
            ("vocab_size", config["vocab_size"]),
    ):
        metadata.number(f"{architecture}.{key}", value)
    texts = [text for text, _ in sorted(tokenizer["model"]["vocab"].items(), key=lambda item: item[1])]
    specials = {added["id"] for added in tokenizer["added_tokens"]}
    metadata.text("tokenizer.ggml.model", "gpt2")
    metadata.text("tokenizer.ggml.pre", "qwen2")
    metadata.texts("tokenizer.ggml.tokens", texts)
    metadata.int32s("tokenizer.ggml.token_type", [_TOKEN_CONTROL if i in specials else _TOKEN_NORMAL for i in range(len(texts))])
    # Readers want an array, which may not be empty in some; this pair never meets in a word.
    metadata.texts("tokenizer.ggml.merges", [f"{texts[-1]} {texts[-2]}"])
    for key in ("bos", "eos"):
        if isinstance(config.get(f"{key}_token_id"), int):
            metadata.number(f"tokenizer.ggml.{key}_token_id", config[f"{key}_token_id"])
    metadata.boolean("tokenizer.ggml.add_bos_token", False)
    return metadata


class SafetensorsFile:
    """The tensors of a .safetensors file by name, mapped."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        (header_size,) = struct.unpack("<Q", self._map[:8])
        self.tensors = json.loads(self._map[8:8 + header_size])
        self.tensors.pop("__metadata__", None)
        self._data_begin = 8 + header_size

    def read(self, name):
        begin, end = self.tensors[name]["data_offsets"]
        return self._map[self._data_begin + begin:self._data_begin + end]


def convert(name, tensor, data, config):
    """A tensor's bytes in the file."""
    if tensor["dtype"] != "BF16":
        raise ValueError(f"tensor {name} is {tensor['dtype']}, must be BF16")
    if len(tensor["shape"]) == 1:
        return bf16_to_f32(data)
    if _ARCHITECTURES[config["model_type"]] == "llama" and (".q_proj." in name or ".k_proj." in name):
        heads = config["num_attention_heads" if ".q_proj." in name else "num_key_value_heads"]
        data = interleave_rows(data, heads, tensor["shape"][0] // heads)
    return data


def write_gguf(folder, path):
    folder = pathlib.Path(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config["model_type"] not in _ARCHITECTURES:
        raise ValueError(f"model_type is {config['model_type']}, must be one of {', '.join(_ARCHITECTURES)}")
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    metadata = model_metadata(config, tokenizer)
    source = SafetensorsFile(folder / "model.safetensors")
    factors = llama3_rope_factors(config)
    # (name, shape, type, what gives its bytes)
    tensors = [("rope_freqs.weight", [len(factors)], _F32, lambda: struct.pack(f"<{len(factors)}f", *factors))] if factors else []
    for name, tensor in source.tensors.items():
        kind = _F32 if len(tensor["shape"]) == 1 else _BF16
        tensors.append((gguf_name(name), tensor["shape"], kind, lambda name=name, tensor=tensor: convert(name, tensor, source.read(name), config)))
    infos, offset = bytearray(), 0
    for name, shape, kind, _ in tensors:
        infos += _string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape)) + struct.pack("<IQ", kind, offset)
        offset += -(-math.prod(shape) * (4 if kind == _F32 else 2) // _ALIGNMENT) * _ALIGNMENT
    with open(path, "wb") as out:
        out.write(b"GGUF" + struct.pack("<IQQ", _VERSION, len(tensors), metadata.count) + metadata.bytes + infos)
        for _, _, _, read in tensors:
            out.write(b"\0" * (-out.tell() % _ALIGNMENT))
            out.write(read())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_gguf(sys.argv[1], sys.argv[2])


if __name__ == "__main__":
    main()
