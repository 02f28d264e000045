#!/usr/bin/env python3
"""Compares //tests/differential:tokenize_texts with the library a model folder's tokenizer was made for, on random texts.

  bazel build -c opt //tests/differential:tokenize_texts
  tests/differential/compare_tokenizers.py --binary bazel-bin/tests/differential/tokenize_texts \
      --folder /models/qwen3 --reference tokenizers --count 1000000

--reference is tokenizers (tokenizer.json; ids with all special tokens, and decoded text without them), sentencepiece
(tokenizer.model) or tiktoken (NAME.tiktoken with spec.json). It needs that Python package; versions that were used are in
README.md. The texts depend on --seed alone. Exit status 1 if anything differs; the first differences are printed.
"""
import argparse
import base64
import itertools
import json
import pathlib
import random
import struct
import subprocess
import sys
import unicodedata

CHUNK = 20000
WORDS = ("the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which "
         "one you were all her she there would their we him been has when who will no more if out so up said what its about "
         "than into them can only other time new some could these two may first then do any like my now over such our man "
         "don't I'll we've it's you're he'd THE Hello WORLD camelCase snake_case kebab-case e.g. U.S.A. http://x.y/z?a=b&c=d "
         "naïve café façade über Straße Ångström").split()
SCRIPTS = [(0x20, 0x7F), (0xA0, 0x180), (0x370, 0x400), (0x400, 0x460), (0x5D0, 0x5EB), (0x620, 0x650), (0x900, 0x970),
           (0xE00, 0xE60), (0x1100, 0x1200), (0x2000, 0x2070), (0x2190, 0x2200), (0x2500, 0x2580), (0x3040, 0x3100),
           (0x4E00, 0x9FA6), (0xAC00, 0xD7A4), (0xFB00, 0xFB50), (0xFF01, 0xFFE7), (0x1D400, 0x1D455)]
MARKS = [0x300, 0x301, 0x302, 0x303, 0x308, 0x323, 0x327, 0x345, 0x5B0, 0x64B, 0x93F, 0x94D, 0xE31, 0x20DD, 0x3099]
SPACES = [" ", "\t", "\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\xa0", "\u1680", "\u2003", "\u2028", "\u202f", "\u3000"]
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧", "🇩🇪", "❤️", "1️⃣", "🏳️‍🌈", "©️", "™", "👨‍💻"]
ODD = ["\u200b", "\u200d", "\u200e", "\ufeff", "\ufffd", "\u00ad", "\x00", "\x01", "\x1b", "\x7f", "\u2581", "\u2047", "Ġ", "<0x0A>"]


def assigned(code_point):
    # Characters of later versions of Unicode than 3.2 (but for emoji) have other properties in each library.
    return unicodedata.ucd_3_2_0.category(chr(code_point)) not in ("Cn", "Cs", "Co")


def fragments(rnd, tokens):
    """The parts of which texts are made."""
    scripts = [[chr(c) for c in range(*r) if assigned(c)] for r in SCRIPTS]
    every = [chr(c) for c in list(range(0x20, 0xD800)) + list(range(0xF900, 0x20000)) if assigned(c)]
    result = []
    for _ in range(6000):
        result.append(rnd.choice(["", " ", " "]) + rnd.choice(WORDS))
    for _ in range(5000):
        script = rnd.choice(scripts)
        result.append("".join(rnd.choices(script, k=rnd.randint(1, 8))))
    for _ in range(2000):
        script = rnd.choice(scripts)
        result.append("".join(c + "".join(map(chr, rnd.choices(MARKS, k=rnd.choice([0, 0, 1, 1, 2, 5])))) for c in rnd.choices(script, k=rnd.randint(1, 4))))
    for _ in range(2000):
        result.append("".join(rnd.choices(every, k=rnd.randint(1, 4))))
    for _ in range(2000):
        result.append(rnd.choice(SPACES) * rnd.choice([1, 1, 2, 3, 4, 7, 16]))
    for _ in range(1000):
        result.append("".join(rnd.choices(SPACES, k=rnd.randint(1, 6))))
    for _ in range(1500):
        result.append(str(rnd.randint(0, 10 ** rnd.randint(1, 12))) + rnd.choice(["", ".", ",", "%", "e-7"]))
    for _ in range(1500):
        result.append("".join(rnd.choices("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", k=rnd.randint(1, 6))))
    for _ in range(1000):
        result.append("".join(rnd.choices(EMOJI, k=rnd.randint(1, 3))))
    for _ in range(800):
        result.append(rnd.choice(ODD) * rnd.choice([1, 1, 2]))
    for _ in range(1200):
        token = rnd.choice(tokens)
        result.append(rnd.choice([token, token, token[:-1], token[1:], token.upper(), " " + token + " "]))
    for _ in range(300):
        result.append(rnd.choice(every) * rnd.randint(5, 60))
    return result


def texts(seed, count, tokens):
    rnd = random.Random(seed)
    parts = fragments(rnd, tokens)
    for _ in range(count):
        yield "".join(rnd.choices(parts, k=rnd.choice((0, 1, 1, 2, 3, 4, 6, 8, 12))))


class Ours:
    def __init__(self, binary, folder, parse_special, add_special):
        self.command = [binary, str(folder), str(int(parse_special)), str(int(add_special))]

    def __call__(self, batch):
        data = []
        for text in batch:
            encoded = text.encode()
            data.append(struct.pack("<I", len(encoded)) + encoded)
        run = subprocess.run(self.command, input=b"".join(data), stdout=subprocess.PIPE, check=True)
        out, at = run.stdout, 0
        for _ in batch:
            (n,) = struct.unpack_from("<I", out, at)
            ids = list(struct.unpack_from("<%di" % n, out, at + 4))
            at += 4 + 4 * n
            (n,) = struct.unpack_from("<I", out, at)
            yield ids, out[at + 4:at + 4 + n].decode()
            at += 4 + n


def make_reference(kind, folder):
    """(function from texts to (ids, decoded), tokens that texts should spell, parse_special, add_special)"""
    if kind == "tokenizers":
        import tokenizers
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokens = [t.content for t in tokenizer.get_added_tokens_decoder().values()][:40]

        def encode(batch):
            ids = [e.ids for e in tokenizer.encode_batch_fast(batch, add_special_tokens=True)]
            return list(zip(ids, tokenizer.decode_batch(ids, skip_special_tokens=True)))
        return encode, tokens or ["<s>"], True, True
    if kind == "sentencepiece":
        import sentencepiece
        processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
        tokens = [processor.id_to_piece(i) for i in range(min(40, processor.get_piece_size()))]

        def encode(batch):
            ids = processor.encode(batch)
            return list(zip(ids, processor.decode(ids)))
        return encode, tokens, False, False
    import tiktoken
    (file,) = folder.glob("*.tiktoken")
    ranks = {base64.b64decode(a): int(b) for a, b in (line.split() for line in open(file))}
    spec = json.load(open(folder / "spec.json"))
    encoding = tiktoken.Encoding(file.stem, pat_str=spec["pat_str"], mergeable_ranks=ranks, special_tokens=spec["special_tokens"])
    special = set(spec["special_tokens"].values())

    def encode(batch):
        for text in batch:
            ids = encoding.encode(text, allowed_special="all")
            yield ids, encoding.decode([i for i in ids if i not in special])
    return encode, list(spec["special_tokens"]), True, False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--reference", required=True, choices=["tokenizers", "sentencepiece", "tiktoken"])
    parser.add_argument("--count", type=int, default=1000000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5)
    args = parser.parse_args()
    reference, tokens, parse_special, add_special = make_reference(args.reference, args.folder)
    ours = Ours(args.binary, args.folder, parse_special, add_special)
    source = texts(args.seed, args.count, tokens)
    compared = token_count = byte_count = different_ids = different_text = 0
    while compared < args.count:
        batch = list(itertools.islice(source, min(CHUNK, args.count - compared)))
        for text, (want_ids, want_text), (ids, decoded) in zip(batch, reference(batch), ours(batch)):
            compared += 1
            token_count += len(want_ids)
            byte_count += len(text.encode())
            wrong = ids != want_ids
            different_ids += wrong
            different_text += not wrong and decoded != want_text
            if (wrong or decoded != want_text) and different_ids + different_text <= args.show:
                print(ascii(text), "\n  ids    ", ids, "\n  want   ", want_ids, "\n  decoded", ascii(decoded), "\n  want   ", ascii(want_text))
    print(f"{args.folder} {args.reference}: {compared} texts, {byte_count} bytes, {token_count} tokens, seed {args.seed}: "
          f"{different_ids} with different ids, {different_text} decoded differently")
    return 1 if different_ids + different_text else 0


if __name__ == "__main__":
    sys.exit(main())
