"""Phyllo: in this process of `phyllo bench`, and through its gateway."""

import json
import time

import checkpoints
import processes

_TIMEOUT = 1800


class Phyllo:
    def __init__(self, program, threads, log):
        self._program = str(program)
        self._threads = threads
        self._log = log

    def version(self):
        return processes.run([self._program, "--version"], self._log, 60).split()[-1]

    def bench(self, models, model, precision, prompt, new_tokens, batches):
        """What the model does in one process: {"prefill": (tokens a second, of the bound), "decode1": ..., "decode32": ...}."""
        out = processes.run(
            [self._program, "bench", "--model", str(checkpoints.folder_of(models, model)), "--precision", precision,
             "--threads", str(self._threads), "-p", str(prompt), "-n", str(new_tokens), "-b", ",".join(map(str, batches)),
             "-r", "1", "--bound", "--json"], self._log, _TIMEOUT)
        measured = {}
        for test in json.loads(out)["tests"]:
            name = "prefill" if test["kind"] == "prefill" else f"decode{test['batch']}"
            rate = test["tokens_per_second"]["median"]
            measured[name] = (rate, test["bound_tokens_per_second"]["median"])
        return measured

    def start_server(self, models, model, precision, cache):
        """`cache`: the folder of packed weights; what an earlier start left there makes this one faster."""
        return PhylloServer(self._program, checkpoints.folder_of(models, model),
                            ["--precision", precision, "--threads", str(self._threads), "--packed-cache", str(cache),
                             # Greedy answers of random weights repeat themselves: drafts would always be right.
                             "--flag", "transformer.speculation=off"], self._log)


class PhylloServer:
    """`phyllo up`: all four services. Use with `with`."""

    def __init__(self, program, folder, flags, log):
        self._program = program
        self._log = log
        begin = time.perf_counter()
        self._process = processes.start([program, "up", str(folder), "--address", "127.0.0.1:0", "--json", *flags], log)
        try:
            line = self._process.stdout.readline()
            self.start_seconds = time.perf_counter() - begin
            services = json.loads(line)
            self._address = services["gateway"]["address"]
            self._pids = [service["pid"] for service in services.values()]
        except (ValueError, KeyError) as error:
            processes.stop(self._process)
            raise processes.ProgramError(f"phyllo up did not start: {line.decode()}{processes.last_lines(log)}") from error
        except BaseException:  # Ctrl-C does not reach a session of its own.
            processes.stop(self._process)
            raise

    def load(self, streams, requests, prompt_tokens, new_tokens):
        """The report of `phyllo bench`."""
        report = json.loads(processes.run(
            [self._program, "bench", "--address", self._address, "--concurrency", str(streams), "--num-requests", str(requests),
             "--prompt-tokens", str(prompt_tokens), "--output-tokens", str(new_tokens), "--json"], self._log, _TIMEOUT))
        if report["completed_count"] != requests:
            raise processes.ProgramError(f"{report['completed_count']} of {requests} requests were answered: {report['errors']}")
        return report

    def memory(self):
        return (*processes.memory(self._pids), processes.peak_memory(self._pids))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        processes.stop(self._process)
