"""Random blocks of every block type and what gguf-py makes of them.

make_block_types.py OUT.safetensors    (Debian's python3-gguf and safetensors)
"""
import sys
import numpy as np
import gguf
from gguf import quants
from safetensors.numpy import save_file

T = gguf.GGMLQuantizationType
# Where the binary16 scales of a block lie, in bytes.
SCALES = {T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82],
          T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208]}
rng = np.random.default_rng(20261129)
tensors = {}
for qtype, places in SCALES.items():
    elements, size = gguf.GGML_QUANT_SIZES[qtype]
    count = 8 if elements == 32 else 4
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for place in places:
        scales = rng.normal(0, 0.05, count).astype(np.float16)
        scales[0] = np.float16(3e-6)  # subnormal
        blocks[:, place:place + 2] = scales.view(np.uint8).reshape(count, 2)
    tensors[qtype.name + ".blocks"] = blocks
    tensors[qtype.name + ".values"] = quants.dequantize(blocks, qtype).astype(np.float32)
save_file(tensors, sys.argv[1])
