"""llama.cpp and transformers, plain or behind a command prefix such as "chroot DIR"."""

import json
import pathlib
import shlex
import socket
import time
import urllib.error
import urllib.request

import checkpoints
import http_load
import processes

_BENCH_TIMEOUT = 1800
_START_TIMEOUT = 300
_SLOTS = 32
_CONTEXT_OF_A_SLOT = 512


class Peers:
    """How to call them. `mounts`: [(folder here, the same folder as they see it)]."""

    def __init__(self, prefix, mounts, llama_cpp, python, threads, log):
        self._prefix = shlex.split(prefix)
        self._mounts = mounts
        self._llama_cpp = llama_cpp
        self._python = python
        self._threads = threads
        self._log = log

    @property
    def has_llama_cpp(self):
        return self._llama_cpp != "none"

    @property
    def has_transformers(self):
        return self._python != "none"

    def path(self, path):
        """A file's name as the peers see it."""
        path = str(pathlib.Path(path).absolute())
        for here, there in self._mounts:
            if path == here or path.startswith(here.rstrip("/") + "/"):
                return there.rstrip("/") + path[len(here.rstrip("/")):]
        return path

    def llama(self, program, *arguments):
        return [*self._prefix, f"{self._llama_cpp}/{program}" if self._llama_cpp else program, *arguments]

    def check(self):
        """What is called, so that a wrong option is found before anything is measured. {name: version}."""
        versions = {}
        if self.has_llama_cpp:
            processes.run(self.llama("llama-bench", "--list-devices"), self._log, 60)
            versions["llama.cpp"] = self._llama_version()
        if self.has_transformers:
            code = "import torch, transformers; print(transformers.__version__, 'with torch', torch.__version__)"
            versions["transformers"] = processes.run([*self._prefix, self._python, "-c", code], self._log, 120).strip()
        return versions

    def _llama_version(self):
        # llama-server writes its version to standard error.
        mark = f"version asked at {time.time()}"
        with open(self._log, "a", encoding="utf-8") as log:
            log.write(mark + "\n")
        processes.run(self.llama("llama-server", "--version"), self._log, 60)
        text = pathlib.Path(self._log).read_text(encoding="utf-8", errors="replace").split(mark)[-1]
        return next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("version:")), "unknown")

    def llama_bench(self, models, model, precision, new_tokens, prefill=True, tuned=False):
        """{"prefill": tokens a second, "decode": ...}. Tuned: weights in huge pages instead of a mapped file."""
        command = self.llama("llama-bench", "-m", self.path(checkpoints.gguf_of(models, model, precision)), "-t", str(self._threads),
                             "-p", str(model.prompt if prefill else 0), "-n", str(new_tokens), "-r", "1", "-o", "json",
                             *(["-lm", "none"] if tuned else []))
        env = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} if tuned else None
        results = json.loads(processes.run(command, self._log, _BENCH_TIMEOUT, env))
        return {("prefill" if result["n_gen"] == 0 else "decode"): result["avg_ts"] for result in results}

    def transformers(self, models, model, new_tokens):
        """{"prefill": tokens a second, "decode": ...} in BF16."""
        script = pathlib.Path(__file__).with_name("transformers_bench.py").resolve()
        # The program is handed over by its text, because the peers may not see this folder.
        command = [*self._prefix, self._python, "-c", script.read_text(encoding="utf-8"),
                   self.path(checkpoints.folder_of(models, model)), str(model.prompt), str(new_tokens), str(self._threads)]
        return json.loads(processes.run(command, self._log, _BENCH_TIMEOUT).splitlines()[-1])

    def start_server(self, models, model, precision):
        return LlamaServer(self, models, model, precision, self._threads, self._log)


class LlamaServer:
    """A running llama-server: 32 slots, no prompt cache. Use with `with`."""

    def __init__(self, peers, models, model, precision, threads, log):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        begin = time.perf_counter()
        self._process = processes.start(
            peers.llama("llama-server", "-m", peers.path(checkpoints.gguf_of(models, model, precision)), "-t", str(threads),
                        "-c", str(_SLOTS * _CONTEXT_OF_A_SLOT), "-np", str(_SLOTS), "-cram", "0", "--host", "127.0.0.1",
                        "--port", str(self.port)), log)
        try:
            self._wait(begin, log)
        except BaseException:  # Ctrl-C does not reach a session of its own.
            processes.stop(self._process)
            raise
        self.start_seconds = time.perf_counter() - begin

    def _wait(self, begin, log):
        while time.perf_counter() - begin < _START_TIMEOUT:
            if self._process.poll() is not None:
                raise processes.ProgramError(f"llama-server ended with exit code {self._process.returncode}\n{processes.last_lines(log)}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as response:
                    if response.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.02)
        raise processes.ProgramError(f"llama-server was not ready after {_START_TIMEOUT} s")

    def load(self, vocabulary, streams, requests, prompt_tokens, new_tokens):
        return http_load.run_load(self.port, streams, requests, prompt_tokens, new_tokens, vocabulary)

    def memory(self):
        return (*processes.memory([self._process.pid]), processes.peak_memory([self._process.pid]))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        processes.stop(self._process)
