"""The random checkpoints: a model folder for Phyllo and transformers, and GGUF files of the same weights for llama.cpp."""

import json
import pathlib
import shutil

import processes
import random_tokenizer
import rows
import write_gguf


def folder_of(models, model):
    return pathlib.Path(models) / model.name


def gguf_of(models, model, precision):
    return pathlib.Path(models) / f"{model.name}-{rows.GGUF_TYPES[precision]}.gguf"


def _make_folder(folder, model, tools, log):
    """Makes it under another name first, so that a folder that is there is whole."""
    building = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(building, ignore_errors=True)
    config = tools.configs / f"{model.config}.json"
    tokenizer = folder.with_name(f".{folder.name}.tokenizer.json")
    tokenizer.write_text(json.dumps(random_tokenizer.make_tokenizer(json.loads(config.read_text(encoding="utf-8")))), encoding="utf-8")
    processes.run([str(tools.make_random_checkpoint), f"--config={config}", f"--out={building}", f"--tokenizer={tokenizer}"],
                  log, timeout=1800)
    tokenizer.unlink()
    building.rename(folder)


def prepare(models, model, precisions, tools, peer, log):
    """Makes what is missing of a model; what is there stays. Without llama.cpp no GGUF file is made."""
    pathlib.Path(models).mkdir(parents=True, exist_ok=True)
    folder = folder_of(models, model)
    if not folder.exists():
        print(f"making {folder}", flush=True)
        _make_folder(folder, model, tools, log)
    if not peer.has_llama_cpp:
        return
    source = gguf_of(models, model, "bf16")
    for precision in ["bf16"] + [precision for precision in precisions if precision != "bf16"]:
        path = gguf_of(models, model, precision)
        if path.exists():
            continue
        print(f"making {path}", flush=True)
        building = path.with_name(f".{path.name}.part")
        if precision == "bf16":
            write_gguf.write_gguf(folder, building)
        else:
            processes.run(peer.llama("llama-quantize", peer.path(source), peer.path(building), rows.GGUF_TYPES[precision]),
                          log, timeout=1800)
        building.rename(path)
