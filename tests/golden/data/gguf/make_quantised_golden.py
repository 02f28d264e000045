"""What transformers computes from a GGUF file: golden.safetensors and golden.json.

make_quantised_golden.py MODEL.gguf PROMPTS.safetensors OUT

MODEL.gguf is read by transformers itself (load_gguf_checkpoint), which dequantises it with gguf-py; logits are then computed in float32, and in float64 to know their noise. PROMPTS.safetensors is the golden file of the
model that MODEL.gguf was quantised from; its p0, p1 and p2 are used. Versions: Debian's torch 2.14.1, transformers 5.12.1,
gguf 0.19.0.
"""
import json
import pathlib
import sys

import gguf
import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

gguf.__version__ = "0.19.0"  # Debian's package does not say, and transformers asks
torch.set_num_threads(1)
torch.set_grad_enabled(False)
NEW_TOKENS = 32


def load(path, dtype):
    config = AutoConfig.from_pretrained(path.parent, gguf_file=path.name, attn_implementation="eager")
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    tensors = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=model)["tensors"]
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    model.tie_weights()
    return model.to(dtype).eval()


def hidden_states(model, ids):
    """Input of layer 0, output of each layer, output of the final norm."""
    found, hooks = {}, []
    decoder = model.model
    hooks.append(decoder.layers[0].register_forward_pre_hook(
        lambda _, args, kwargs: found.update(embed=(args[0] if args else kwargs["hidden_states"])[0].clone()), with_kwargs=True))
    for i, layer in enumerate(decoder.layers):
        hooks.append(layer.register_forward_hook(
            lambda _, args, out, i=i: found.update({f"layer{i}": (out[0] if isinstance(out, tuple) else out).reshape(len(ids), -1).clone()})))
    hooks.append(decoder.norm.register_forward_hook(lambda _, args, out: found.update(final_norm=out[0].clone())))
    logits = model(torch.tensor([ids])).logits[0]
    for hook in hooks:
        hook.remove()
    return logits, found


def greedy(model, ids):
    ids, new, logprobs, margins = list(ids), [], [], []
    for _ in range(NEW_TOKENS):
        logits = model(torch.tensor([ids])).logits[0, -1]
        top = logits.topk(2).values
        token = int(logits.argmax())
        new.append(token)
        logprobs.append(float(logits.double().log_softmax(-1)[token]))
        margins.append(float(top[0] - top[1]))
        ids.append(token)
    return new, logprobs, margins


def main(path, prompts, out):
    prompts = load_file(prompts)
    f32, f64 = load(path, torch.float32), load(path, torch.float64)
    tensors, noise, hidden_noise, std = {}, 0.0, 0.0, 0.0
    for p in ("p0", "p1", "p2"):
        ids = [int(i) for i in prompts[p + ".input_ids"]]
        logits, hidden = hidden_states(f32, ids)
        logits64, hidden64 = hidden_states(f64, ids)
        noise = max(noise, float((logits - logits64).abs().max()))
        std = max(std, float(logits.std()))
        for name in hidden:
            error = (hidden[name] - hidden64[name]).abs().max() / hidden64[name].std()
            hidden_noise = max(hidden_noise, float(error))
            if p == "p1":
                tensors[f"p1.hidden.{name}"] = hidden[name].numpy()
        tensors[p + ".input_ids"] = np.array(ids, np.int64)
        if p == "p2":
            tensors[p + ".logits_last"] = logits[-1].numpy()
        else:
            tensors[p + ".logits"] = logits.numpy()
        tensors[p + ".argmax"] = logits.argmax(-1).numpy()
        logprobs = logits.double().log_softmax(-1)
        tensors[p + ".prompt_logprobs"] = np.array([logprobs[t, ids[t + 1]] for t in range(len(ids) - 1)], np.float32)
        new, chosen, margins = greedy(f32, ids)
        tensors[p + ".greedy.ids"] = np.array(new, np.int64)
        tensors[p + ".greedy.logprobs"] = np.array(chosen, np.float32)
        tensors[p + ".greedy.margin"] = np.array(margins, np.float32)
    out.mkdir(parents=True, exist_ok=True)
    save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, out / "golden.safetensors")
    golden = {"name": path.stem, "reference": "transformers reads the GGUF file; eager attention, float32, 1 thread",
              "logits_std": std, "f32_noise_rel": noise / std, "tolerance_rel": max(10 * noise / std, 2e-5),
              "hidden_noise_rel": hidden_noise}
    (out / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    print(golden)


main(*(pathlib.Path(a) for a in sys.argv[1:4]))
