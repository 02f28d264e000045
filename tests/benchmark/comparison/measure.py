"""One round: every program once for each model and precision that a row asks for, one after the other."""

import json
import time

import checkpoints
import http_load
import random_tokenizer

# Of a decode measured for itself, as llama-bench -n.
_STEPS = {"qwen25-0.5b": 32, "llama32-1b": 16, "minimind2-small": 128}
# "32 running" is measured on llama.cpp through its server, and on Phyllo's the same way: short prompts, all at once.
_BATCH_PROMPT, _BATCH_NEW_TOKENS = 16, 48
_SERVING_PROMPT = 128


class Results:
    """Values of all rounds by (row name, program, measure)."""

    def __init__(self):
        self.values = {}
        self.errors = []

    def add(self, row, program, measure, value):
        self.values.setdefault((row.name, program, measure), []).append(value)

    def get(self, row, program, measure):
        return self.values.get((row.name, program, measure), [])


class Round:
    """Measures the rows of one model and precision. A program that fails is noted and leaves its values out."""

    def __init__(self, options, phyllo, peers, results):
        self._options = options
        self._phyllo = phyllo
        self._peers = peers
        self._results = results

    def run(self, model, precision, rows):
        by_kind = {}
        for row in rows:
            by_kind.setdefault(row.kind, []).append(row)
        if by_kind.keys() & {"prefill", "decode1", "decode32"}:
            self._try(self._steps_of_phyllo, model, precision, by_kind)
            if self._peers.has_llama_cpp and by_kind.keys() & {"prefill", "decode1"}:
                self._try(self._steps_of_llama_cpp, model, precision, by_kind)
            if self._peers.has_transformers and precision == "bf16" and by_kind.keys() & {"prefill", "decode1"}:
                self._try(self._steps_of_transformers, model, precision, by_kind)
        self._try(self._phyllo_server, model, precision, by_kind)
        if self._peers.has_llama_cpp and by_kind.keys() & {"serving", "start", "decode32"}:
            self._try(self._llama_server, model, precision, by_kind)

    def _try(self, method, model, precision, by_kind):
        print(f"  {model.name} {precision} {method.__name__.strip('_')}", flush=True)
        try:
            method(model, precision, by_kind)
        except Exception as error:  # Whatever it is: the other programs are measured all the same.
            self._results.errors.append(f"{model.name} {precision} {method.__name__.strip('_')}: {type(error).__name__}: {error}")
            print(f"    FAILED: {error}", flush=True)

    def _new_tokens(self, model):
        return 8 if self._options.quick else _STEPS[model.name]

    def _requests(self, model, streams):
        return max(streams, 2) if self._options.quick else max(model.requests_per_stream * streams, 4)

    def _add_steps(self, by_kind, program, measure, values):
        for kind in ("prefill", "decode1", "decode32"):
            for row in by_kind.get(kind, []):
                if kind in values:
                    self._results.add(row, program, measure, values[kind])

    def _steps_of_phyllo(self, model, precision, by_kind):
        measured = self._phyllo.bench(self._options.models, model, precision, model.prompt, self._new_tokens(model),
                                      [1, 32] if "decode32" in by_kind else [1])
        self._add_steps(by_kind, "phyllo", "in process", {name: rate for name, (rate, _) in measured.items()})
        self._add_steps(by_kind, "phyllo", "bound", {name: bound for name, (_, bound) in measured.items()})

    def _steps_of_llama_cpp(self, model, precision, by_kind):
        arguments = (self._options.models, model, precision, self._new_tokens(model), "prefill" in by_kind)
        values = self._peers.llama_bench(*arguments)
        self._add_steps(by_kind, "llama.cpp", "rate", {"prefill": values.get("prefill"), "decode1": values["decode"]})
        if self._options.tuned and precision == "bf16":
            values = self._peers.llama_bench(*arguments, tuned=True)
            self._add_steps(by_kind, "llama.cpp", "tuned rate", {"prefill": values.get("prefill"), "decode1": values["decode"]})

    def _steps_of_transformers(self, model, precision, by_kind):
        values = self._peers.transformers(self._options.models, model, self._new_tokens(model))
        self._add_steps(by_kind, "transformers", "rate", {"prefill": values["prefill"], "decode1": values["decode"]})

    def _phyllo_server(self, model, precision, by_kind):
        arguments = (self._options.models, model, precision, self._options.out / "packed_cache" / f"{model.name}-{precision}")
        with self._phyllo.start_server(*arguments) as server:
            for row in by_kind.get("start", []):
                self._results.add(row, "phyllo", "start", server.start_seconds)
            if by_kind.keys() & {"prefill", "decode1"}:
                # Longer than a decode in process, so that a client that reads late for once does not matter.
                report = server.load(1, 3, model.prompt, 4 * self._new_tokens(model))
                self._add_steps(by_kind, "phyllo", "gateway", {
                    "prefill": 1000 * model.prompt / report["time_to_first_token_ms"]["min"],
                    "decode1": 1000 / report["time_per_output_token_ms"]["mean"]})
            if "decode32" in by_kind:
                report = server.load(32, 32, _BATCH_PROMPT, _BATCH_NEW_TOKENS)
                self._add_steps(by_kind, "phyllo", "gateway", {"decode32": 32000 / report["time_per_output_token_ms"]["p50"]})
            self._serving(by_kind, "phyllo", server.load, model)
            for row in by_kind.get("start", []):
                self._add_memory(row, "phyllo", server.memory())
            if "start" in by_kind:
                _wait_until_written(arguments[-1])
        for row in by_kind.get("start", []):
            with self._phyllo.start_server(*arguments) as server:
                self._results.add(row, "phyllo", "start", server.start_seconds)

    def _llama_server(self, model, precision, by_kind):
        def load(*arguments):
            return server.load(self._options.vocabularies[model.name], *arguments)

        with self._peers.start_server(self._options.models, model, precision) as server:
            for row in by_kind.get("start", []):
                self._results.add(row, "llama.cpp", "start", server.start_seconds)
            if "decode32" in by_kind:
                report = load(32, 32, _BATCH_PROMPT, _BATCH_NEW_TOKENS)
                self._add_steps(by_kind, "llama.cpp", "rate", {"decode32": 32000 / report["time_per_output_token_ms"]["p50"]})
            self._serving(by_kind, "llama.cpp", load, model)
            for row in by_kind.get("start", []):
                self._add_memory(row, "llama.cpp", server.memory())

    def _serving(self, by_kind, program, load, model):
        for row in by_kind.get("serving", []):
            new_tokens = 16 if self._options.quick else model.new_tokens
            report = load(row.streams, self._requests(model, row.streams), _SERVING_PROMPT, new_tokens)
            self._results.add(row, program, "rate", report["output_tokens_per_second"])
            for latency in ("time_to_first_token_ms", "inter_token_latency_ms"):
                for percentile in ("p50", "p99"):
                    self._results.add(row, program, f"{latency} {percentile}", report[latency][percentile])

    def _add_memory(self, row, program, memory):
        for measure, value in zip(("resident", "proportional", "peak resident"), memory):
            self._results.add(row, program, measure, value)


def _wait_until_written(cache, timeout=180):
    """Until the service that is ready has kept its packed weights, which it writes in the background, to another name first."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        names = [path.name for path in cache.rglob("*") if path.is_file()]
        if names and not any(name.endswith(".tmp") for name in names):
            return
        if not names and time.monotonic() > deadline - timeout + 5:
            return  # It keeps nothing.
        time.sleep(0.1)


def read_vocabularies(models, chosen):
    """{name: Vocabulary} of the checkpoints."""
    vocabularies = {}
    for model in chosen:
        vocab = json.loads((checkpoints.folder_of(models, model) / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
        partial = [vocab[character] for character in random_tokenizer.byte_characters()[0x80:]]
        vocabularies[model.name] = http_load.Vocabulary(len(vocab), partial)
    return vocabularies
