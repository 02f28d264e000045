"""A closed loop of streams on llama-server, measured as `phyllo bench` measures: by the arrival of messages at the client.

One thread reads all sockets and looks into what they bring as little as it can, so that the load takes little of a machine
that it shares with the server.
"""

import dataclasses
import json
import random
import re
import selectors
import socket
import time

_EVENT = b"data: "
_LAST = b'"stop":true'


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    size: int
    partial_ids: list  # tokens that are no whole character


class _Stream:
    def __init__(self, port, body):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.begin = time.perf_counter()
        self.socket.sendall(b"POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                            b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        self.times = []  # of messages with tokens
        self.tokens = 0  # as the server says at the end: it holds text back that is no UTF-8 yet
        self.line = b""  # the beginning of one, until its end arrives

    def read(self):
        """True at the end of the answer."""
        data = self.socket.recv(1 << 16)
        now = time.perf_counter()
        if not data:
            return True
        *lines, self.line = (self.line + data).split(b"\n")
        events = [line for line in lines if line.startswith(_EVENT)]
        if events and _LAST in events[-1]:
            match = re.search(rb'"predicted_n":(\d+)', events.pop())
            self.tokens = int(match.group(1)) if match else 0
        if events:
            self.times.append(now)
        return False


def make_body(seed, prompt_tokens, new_tokens, vocabulary):
    numbers = random.Random(seed)
    return json.dumps({
        "prompt": [numbers.randrange(300, vocabulary.size) for _ in range(prompt_tokens)],
        "n_predict": new_tokens,
        "stream": True,
        "ignore_eos": True,
        "cache_prompt": False,
        "temperature": 0,
        "top_k": 1,
        "samplers": ["top_k"],
        # Of such tokens the server sends nothing until they make a character, which random weights never may.
        "logit_bias": [[token_id, False] for token_id in vocabulary.partial_ids],
    }).encode()


def percentile(samples, percent):
    """Nearest rank, as phyllo bench does; 0 of nothing."""
    ordered = sorted(samples)
    return 0 if not ordered else ordered[-(-len(ordered) * percent // 100) - 1]


def summarize(streams, seconds):
    first = [1000 * (stream.times[0] - stream.begin) for stream in streams]
    gaps = [1000 * (b - a) for stream in streams for a, b in zip(stream.times, stream.times[1:])]
    return {
        "completed_count": len(streams),
        "output_tokens_per_second": sum(stream.tokens for stream in streams) / seconds,
        "time_to_first_token_ms": {"p50": percentile(first, 50), "p99": percentile(first, 99)},
        "time_per_output_token_ms": {
            "p50": percentile([1000 * (stream.times[-1] - stream.times[0]) / (stream.tokens - 1) for stream in streams if stream.tokens > 1], 50)},
        "inter_token_latency_ms": {"p50": percentile(gaps, 50), "p99": percentile(gaps, 99)},
    }


def run_load(port, streams, requests, prompt_tokens, new_tokens, vocabulary):
    """Keeps `streams` requests under way until `requests` are answered."""
    bodies = [make_body(seed, prompt_tokens, new_tokens, vocabulary) for seed in range(requests)]
    bodies.reverse()
    ended = []
    begin = time.perf_counter()
    with selectors.DefaultSelector() as selector:

        def start_next():
            stream = _Stream(port, bodies.pop())
            selector.register(stream.socket, selectors.EVENT_READ, stream)

        for _ in range(min(streams, requests)):
            start_next()
        while selector.get_map():
            for key, _ in selector.select(timeout=600) or _timed_out():
                stream = key.data
                if stream.read():
                    selector.unregister(stream.socket)
                    stream.socket.close()
                    ended.append(stream)
                    if bodies:
                        start_next()
    seconds = time.perf_counter() - begin
    short = [stream.tokens for stream in ended if stream.tokens < new_tokens]
    if short:
        raise RuntimeError(f"llama-server gave {short[0]} of {new_tokens} tokens in {len(short)} of {requests} answers")
    if not all(stream.times for stream in ended):
        raise RuntimeError("llama-server sent no token before the end of an answer")
    return summarize(ended, seconds)


def _timed_out():
    raise TimeoutError("llama-server sent nothing for 600 s")
