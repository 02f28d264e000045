"""What is compared: the rows of the tables, and which of them a run takes."""

import dataclasses
import fnmatch

# Phyllo's precision and the type of GGUF that is its peer.
GGUF_TYPES = {"bf16": "BF16", "int8": "Q8_0", "int4": "Q4_0"}


@dataclasses.dataclass(frozen=True)
class Model:
    """A shape: configs/CONFIG.json, in the folder NAME of --models."""
    name: str
    config: str
    title: str
    prompt: int  # tokens of a prefill
    new_tokens: int  # of an answer under load
    requests_per_stream: int  # under load: enough for a 99th percentile, where that does not take minutes
    # Seconds that all programs together take for one round of a precision: to estimate a run.
    step_seconds: int
    serving_seconds: int


MODELS = {
    model.name: model
    for model in (
        Model("qwen25-0.5b", "qwen2.5_0.5b", "Qwen2.5-0.5B", 512, 64, 2, 90, 150),
        Model("llama32-1b", "llama3.2_1b", "Llama-3.2-1B", 256, 32, 2, 150, 240),
        Model("minimind2-small", "minimind2_small", "MiniMind2-small", 512, 128, 8, 40, 110),
    )
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of a table. `floor` and `hf_floor` are the least acceptable ratios to llama.cpp and transformers."""
    model: Model
    precision: str
    kind: str  # prefill, decode1, decode32, serving or start
    streams: int = 1
    floor: float = None
    hf_floor: float = None

    @property
    def name(self):
        what = f"serving{self.streams}" if self.kind == "serving" else self.kind
        return f"{self.model.name}/{self.precision}/{what}"

    @property
    def what(self):
        return {"prefill": f"prefill {self.model.prompt}", "decode1": "decode, 1 running",
                "decode32": "decode, 32 running", "serving": f"{self.streams} streams", "start": "start"}[self.kind]


# (model, precision, kind) -> (floor of the ratio to llama.cpp, to transformers)
_FLOORS = {
    ("qwen25-0.5b", "bf16", "prefill"): (12, 2.5),
    ("qwen25-0.5b", "int8", "prefill"): (5, None),
    ("qwen25-0.5b", "bf16", "decode1"): (1.5, None),
    ("qwen25-0.5b", "int8", "decode1"): (1.4, None),
    ("qwen25-0.5b", "int4", "decode1"): (1.6, None),
    ("qwen25-0.5b", "int8", "decode32"): (2.5, None),
    ("qwen25-0.5b", "bf16", "decode32"): (4, None),
    ("llama32-1b", "bf16", "prefill"): (10, None),
    ("llama32-1b", "int8", "prefill"): (5, None),
    ("llama32-1b", "bf16", "decode1"): (1.3, None),
    ("llama32-1b", "int8", "decode1"): (1.3, None),
    ("llama32-1b", "int4", "decode1"): (1.3, None),
    ("llama32-1b", "int8", "decode32"): (2.5, None),
    ("minimind2-small", "bf16", "prefill"): (10, 2.5),
    ("minimind2-small", "bf16", "decode1"): (1.5, None),
    ("minimind2-small", "int8", "decode1"): (1.5, None),
    ("minimind2-small", "int8", "decode32"): (4, None),
}


def all_rows():
    rows = [Row(MODELS[model], precision, kind, floor=floor, hf_floor=hf_floor)
            for (model, precision, kind), (floor, hf_floor) in _FLOORS.items()]
    for model in MODELS.values():
        for precision in GGUF_TYPES:
            rows += [Row(model, precision, "serving", streams) for streams in (1, 8, 32)]
            rows.append(Row(model, precision, "start"))
    return rows


def select(patterns):
    """The rows whose name one of the comma-separated patterns matches; "*" and "?" are wild. ValueError if one matches none."""
    chosen = []
    for pattern in patterns.split(","):
        matched = [row for row in all_rows() if fnmatch.fnmatchcase(row.name, pattern)]
        if not matched:
            raise ValueError(f"--rows: \"{pattern}\" matches no row; --list shows them")
        chosen += [row for row in matched if row not in chosen]
    return [row for row in all_rows() if row in chosen]


def cells(rows):
    """{(model, precision): its rows}: what is measured together."""
    grouped = {}
    for row in rows:
        grouped.setdefault((row.model, row.precision), []).append(row)
    return grouped


def estimate_seconds(rows, rounds):
    total = 0
    for (model, _), of_cell in cells(rows).items():
        kinds = {row.kind for row in of_cell}
        total += rounds * (model.step_seconds if kinds & {"prefill", "decode1", "decode32"} else 0)
        total += rounds * (model.serving_seconds if "serving" in kinds else 0)
        total += 20 * rounds if kinds == {"start"} else 0
    return total
