"""A tokenizer for checkpoints of random weights: byte-level BPE with as many tokens as the model has ids.

The first ids that are not special are the 256 bytes, the others are made-up words that no merge leads to, so every id has
a text, as servers want, and every text has ids. Only the shape of a vocabulary matters to a measurement.
"""


def byte_characters():
    """The 256 characters that stand for bytes in byte-level vocabularies, in the order of the bytes."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def special_ids(config):
    """{id: text} of the ids that config.json gives a meaning."""
    specials = {}
    for key, text in (("bos_token_id", "<|begin|>"), ("eos_token_id", "<|end|>")):
        if isinstance(config.get(key), int):
            specials[config[key]] = text
    return specials


def make_tokenizer(config):
    """The object of tokenizer.json for the object of config.json."""
    specials = special_ids(config)
    characters = iter(byte_characters())
    vocab = {}
    for token_id in range(config["vocab_size"]):
        text = specials.get(token_id) or next(characters, None) or f"w{token_id}"
        vocab[text] = token_id
    if len(vocab) != config["vocab_size"] or next(characters, None) is not None:
        raise ValueError(f"vocab_size is {config['vocab_size']}, must have room for 256 bytes and {len(specials)} special ids")
    added = [{"id": token_id, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for token_id, text in sorted(specials.items())]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": []},
    }
