"""Records what transformers' logits processors make of golden logits: see README.md."""

import argparse
import json
import pathlib

import safetensors.torch
import torch
from transformers import AutoModelForCausalLM, GenerationConfig

MODELS = ["gpt2", "qwen3", "llama-gqa"]
PROMPT = "p1"
POSITIONS = [4, 9, 16]  # the logits after ids[0..position]
PROMPT_COUNT = 3  # of which this many count as prompt


def settings(ids):
    """GenerationConfig arguments; `ids` are the tokens so far, to ban something that matters."""
    return [
        {"temperature": 0.5, "top_p": 0.8},
        {"temperature": 1.3, "top_k": 20, "top_p": 0.9, "min_p": 0.05},
        {"temperature": 0.9, "typical_p": 0.6},
        {"top_k": 100, "min_p": 0.02, "typical_p": 0.9, "repetition_penalty": 0.8},
        {"repetition_penalty": 1.3, "temperature": 0.7, "top_k": 60, "no_repeat_ngram_size": 2},
        {"no_repeat_ngram_size": 1, "top_p": 0.95},
        {"bad_words_ids": [[7], [ids[-1], 11], [ids[-2], ids[-1], 12], [3, 13]],
         "sequence_bias": [[[5], 2.5], [[9], -1.5]], "min_new_tokens": 10, "eos_token_id": [2, 6],
         "repetition_penalty": 1.1, "top_p": 0.97},
    ]


def processed(model, setting, ids, logits):
    arguments = {"top_k": 0, **setting}  # transformers' own default of top_k is 50
    config = GenerationConfig(do_sample=True, num_beams=1, **arguments)
    model._prepare_special_tokens(config, device="cpu")
    processors = model._get_logits_processor(
        generation_config=config, input_ids_seq_length=PROMPT_COUNT, encoder_input_ids=None,
        prefix_allowed_tokens_fn=None, logits_processor=[], device="cpu", model_kwargs={})
    scores = processors(torch.tensor([ids]), logits[None].clone())[0]
    probabilities = torch.softmax(scores.double(), -1)
    kept = (scores > -torch.inf).nonzero()[:, 0].tolist()
    return {"kept": kept, "probabilities": [float(f"{probabilities[i]:.8g}") for i in kept]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", type=pathlib.Path, help="folder of the golden models")
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    cases = []
    for name in MODELS:
        folder = arguments.models / name
        golden = safetensors.torch.load_file(folder / "golden.safetensors")
        ids = golden[f"{PROMPT}.input_ids"].tolist()
        model = AutoModelForCausalLM.from_pretrained(folder)
        for position in POSITIONS:
            if position >= len(ids):
                continue
            so_far = ids[:position + 1]
            logits = golden[f"{PROMPT}.logits"][position]
            for setting in settings(so_far):
                cases.append({"model": name, "prompt": PROMPT, "position": position,
                              "prompt_count": PROMPT_COUNT, "setting": setting,
                              **processed(model, setting, so_far, logits)})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    arguments.out.write_text(f"[\n{lines}\n]\n")


main()
