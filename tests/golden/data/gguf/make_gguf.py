"""A Hugging Face folder as a GGUF file, by llama.cpp's own converter.

make_gguf.py FOLDER OUT.gguf bf16|f32

Golden models have no tokenizer: the file then says so ("none"). Run it where Debian's llama.cpp-tools are installed.
"""
import pathlib
import sys

sys.path.insert(1, "/usr/share/llama.cpp/llama.cpp-tools")  # Debian's place of the converter's modules

import gguf
import torch
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class

folder, out, outtype = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
file_types = {"f32": gguf.LlamaFileType.ALL_F32, "bf16": gguf.LlamaFileType.MOSTLY_BF16}
hparams = ModelBase.load_hparams(folder, False)
model_class = get_model_class(get_model_architecture(hparams, ModelType.TEXT))
if not any((folder / name).exists() for name in ("tokenizer.json", "tokenizer.model")):
    model_class.set_vocab = lambda self: self.gguf_writer.add_tokenizer_model("none")
with torch.inference_mode():
    model = model_class(folder, file_types[outtype], out)
    # Keys of older configs that the converter asks for.
    model.hparams.setdefault("n_ctx", model.hparams.get("n_positions"))
    model.hparams.setdefault("rotary_pct", (model.hparams.get("rope_parameters") or {}).get("partial_rotary_factor", 0.25))
    model.write()
