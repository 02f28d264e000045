#!/usr/bin/env python3
"""An example of a Phyllo client in Python: gRPC's own package, and stubs made from proto/ (see README.md).

As a library:

    client = PhylloClient("127.0.0.1:50050")
    for text in client.generate("Once upon a time", temperature=0, max_new_tokens=50):
        print(text, end="", flush=True)

As a program:

    phyllo_client.py generate "Once upon a time" --seed 7
    phyllo_client.py chat
"""

import argparse
import os
import sys

import grpc

from phyllo.common.v1 import chat_pb2, sampling_pb2
from phyllo.gateway.v1 import encode_pb2, gateway_pb2, gateway_pb2_grpc, generate_pb2

# A long answer must not end at gRPC's default of 4 MiB, nor an idle connection unnoticed.
_CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.keepalive_time_ms", 30_000),
]

_SAMPLING = sampling_pb2.SamplingParameters.DESCRIPTOR.fields_by_name
_STOPPING = sampling_pb2.StoppingParameters.DESCRIPTOR.fields_by_name


class Answer:
    """The text of one generation, piece by piece; `finished` (generate.proto) is set when it has ended."""

    def __init__(self, call):
        self._call = call
        self.finished = None

    def __iter__(self):
        for message in self._call:
            kind = message.WhichOneof("kind")
            if kind == "delta":
                yield message.delta.text
            elif kind == "finished":
                self.finished = message.finished

    def cancel(self):
        """Ends it early; the engine stops within a step. Iteration then raises grpc.RpcError CANCELLED."""
        self._call.cancel()


def make_request(prompt, stop=(), **parameters):
    """A GenerateRequest. `prompt` is a text, a list of token ids, or a list of (role, content) turns; `stop` a text or several.

    `parameters` are fields of SamplingParameters or StoppingParameters (common/v1/sampling.proto), messages and maps as
    dictionaries; what is not given is not sent, and takes the model's default. TypeError for a name that is in neither.
    """
    for name in parameters:
        if name not in _SAMPLING and name not in _STOPPING:
            raise TypeError(f"there is no parameter {name!r}")
    request = generate_pb2.GenerateRequest(
        stop_sequences=[stop] if isinstance(stop, str) else stop,
        sampling={name: value for name, value in parameters.items() if name in _SAMPLING},
        stopping={name: value for name, value in parameters.items() if name in _STOPPING},
    )
    if isinstance(prompt, str):
        request.text = prompt
    elif all(isinstance(element, int) for element in prompt):
        request.token_ids.ids.extend(prompt)
    else:
        request.chat.messages.extend(chat_pb2.ChatMessage(role=role, content=content) for role, content in prompt)
    return request


class PhylloClient:
    """Owns a connection to a gateway ("host:port" or "unix:PATH"). Thread-safe. Errors are grpc.RpcError: code(), details()."""

    def __init__(self, address):
        self._channel = grpc.insecure_channel(address, options=_CHANNEL_OPTIONS)
        self._stub = gateway_pb2_grpc.GatewayServiceStub(self._channel)

    def close(self):
        self._channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def generate(self, prompt, timeout=None, **parameters):
        """Streams an answer; see make_request. `timeout` is in seconds."""
        return Answer(self._stub.Generate(make_request(prompt, **parameters), timeout=timeout))

    def embed(self, texts, **options):
        """One vector (a list of floats) for each text. `options` are fields of EmbedRequest: dimensions, normalize, ..."""
        request = encode_pb2.EmbedRequest(texts=texts, **options)
        return [list(vector.values) for vector in self._stub.Embed(request).vectors]

    def tokenize(self, text):
        return list(self._stub.Tokenize(gateway_pb2.TokenizeRequest(text=text)).token_ids)

    def detokenize(self, token_ids):
        return self._stub.Detokenize(gateway_pb2.DetokenizeRequest(token_ids=token_ids)).text

    def model(self):
        """The model's GetModelResponse (gateway.proto)."""
        return self._stub.GetModel(gateway_pb2.GetModelRequest())


def _print_answer(answer):
    """Prints the pieces as they come; returns the whole text."""
    text = ""
    for piece in answer:
        text += piece
        print(piece, end="", flush=True)
    print()
    return text


def _chat(client, parameters):
    turns = []
    while True:
        try:
            turn = input(">>> " if sys.stdin.isatty() else "")
        except EOFError:
            return
        turns.append(("user", turn))
        turns.append(("assistant", _print_answer(client.generate(turns, **parameters))))


def _parse_command_line():
    options = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    options.add_argument("--address", help="of the gateway: host:port or unix:PATH (default 127.0.0.1:50050)")
    options.add_argument("--temperature", type=float, help="0 takes the most likely token")
    options.add_argument("--seed", type=int, help="repeats an answer")
    options.add_argument("--max-new-tokens", type=int, help="ends an answer after so many tokens")
    parser = argparse.ArgumentParser(description="An example of a Phyllo client.", parents=[options])
    commands = parser.add_subparsers(dest="command", required=True)
    generate = commands.add_parser("generate", help="continues a text", parents=[options])
    generate.add_argument("prompt", help="the text")
    commands.add_parser("chat", help="talks, one turn a line", parents=[options])
    arguments = vars(parser.parse_args())
    parameters = {name: arguments[name] for name in ("temperature", "seed", "max_new_tokens") if name in arguments}
    try:
        make_request("", **parameters)
    except ValueError as error:  # a number that its field cannot hold
        parser.error(str(error))
    return arguments, parameters


def main():
    arguments, parameters = _parse_command_line()
    try:
        with PhylloClient(arguments.get("address", "127.0.0.1:50050")) as client:
            if arguments["command"] == "chat":
                _chat(client, parameters)
            else:
                _print_answer(client.generate(arguments["prompt"], **parameters))
    except grpc.RpcError as error:
        sys.exit(f"{error.code().name}: {error.details()}")
    except UnicodeError as error:
        sys.exit(f"the text cannot be read or written: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # nobody reads any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the exit
        sys.exit(1)


if __name__ == "__main__":
    main()
