#!/usr/bin/env python3
"""Measures transformers on a model folder: transformers_bench.py FOLDER PROMPT NEW_TOKENS THREADS. Writes one line of JSON.

Runs where torch and transformers are. BF16, attention by sdpa, greedy: one prefill and one decode loop with the KV cache.
"""

import json
import sys
import time

import torch
import transformers
from safetensors.torch import load_file

folder, prompt_tokens, new_tokens, threads = sys.argv[1], *map(int, sys.argv[2:5])
torch.set_num_threads(threads)
with open(f"{folder}/config.json", encoding="utf-8") as file:
    fields = json.load(file)
if fields["model_type"] == "minimind":  # A Llama in all but name, when it has no experts.
    fields["model_type"] = "llama"
    fields["tie_word_embeddings"] = True
config = transformers.AutoConfig.for_model(**fields)
config._attn_implementation = "sdpa"
torch.set_default_dtype(torch.bfloat16)
model = transformers.AutoModelForCausalLM.from_config(config).eval()
missing, unexpected = model.load_state_dict(load_file(f"{folder}/model.safetensors"), strict=False)
model.tie_weights()
if unexpected or [name for name in missing if name != "lm_head.weight"]:
    sys.exit(f"weights do not fit: missing {missing}, unexpected {unexpected}")


@torch.inference_mode()
def measure(prompt_count, token_count):
    """Seconds of the prompt and of the tokens after it."""
    ids = torch.randint(300, config.vocab_size, (1, prompt_count))
    begin = time.perf_counter()
    out = model(ids, use_cache=True, logits_to_keep=1)
    prefill = time.perf_counter() - begin
    begin = time.perf_counter()
    for _ in range(token_count):
        out = model(out.logits[:, -1:].argmax(-1), past_key_values=out.past_key_values, use_cache=True, logits_to_keep=1)
    return prefill, time.perf_counter() - begin


measure(prompt_tokens, 2)
prefill_seconds, decode_seconds = measure(prompt_tokens, new_tokens)
print(json.dumps({"prefill": prompt_tokens / prefill_seconds, "decode": new_tokens / decode_seconds}))
