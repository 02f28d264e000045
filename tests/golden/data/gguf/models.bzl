"""The models in GGUF files: a file or a folder here and a test in //tests/golden for each."""

# NAME.gguf holds the golden model of that name.
GGUF_MODELS = [
    "gemma",
    "gpt2",
    "gpt_neox",
    "granite",
    "llama-bias",
    "llama-gqa",
    "llama3-rope",
    "mixtral",
    "olmo2",
    "phi3-longrope",
    "qwen2",
    "qwen3",
    "smollm3",
]

# Folders with a quantised model and what transformers computes from it.
QUANTISED_GGUF_MODELS = [
    "llama-d256.Q4_0",
    "llama-d256.Q4_K_M",
    "llama-d256.Q8_0",
]
