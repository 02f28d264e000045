#!/usr/bin/env python3
"""Tests what the comparison does beside running programs: checkpoints, rows, the load generator's reading, tables."""

import contextlib
import io
import json
import os
import pathlib
import socket
import struct
import sys
import tempfile
import threading
import unittest
import unittest.mock

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True

import compare
import http_load
import measure
import peers
import phyllo
import random_tokenizer
import report
import rows
import write_gguf

CONFIG = {
    "model_type": "llama",
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 8,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "vocab_size": 300,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def write_safetensors(path, tensors):
    """tensors: {name: (shape, bytes)} in BF16."""
    header, offset = {}, 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, data in tensors.values()))


class RandomTokenizerTest(unittest.TestCase):

    def test_every_id_has_a_text_of_its_own(self):
        tokenizer = random_tokenizer.make_tokenizer(CONFIG)
        vocab = tokenizer["model"]["vocab"]
        self.assertEqual(sorted(vocab.values()), list(range(300)))
        self.assertEqual([added["id"] for added in tokenizer["added_tokens"]], [1, 2])
        self.assertTrue(set(random_tokenizer.byte_characters()) <= set(vocab))
        self.assertEqual(vocab["A"], 2 + ord("A"))  # ids 1 and 2 are special

    def test_vocabulary_without_room_for_bytes_is_refused(self):
        with self.assertRaisesRegex(ValueError, "vocab_size is 257"):
            random_tokenizer.make_tokenizer({**CONFIG, "vocab_size": 257})


class WriteGgufTest(unittest.TestCase):

    def test_rows_of_a_head_are_interleaved(self):
        # Two heads of four rows of one byte: (h, s, i) becomes (h, i, s).
        self.assertEqual(write_gguf.interleave_rows(bytes([0, 1, 2, 3, 10, 11, 12, 13]), 2, 4),
                         bytes([0, 2, 1, 3, 10, 12, 11, 13]))

    def test_bf16_is_widened_exactly(self):
        self.assertEqual(struct.unpack("<2f", write_gguf.bf16_to_f32(struct.pack("<2H", 0x3F80, 0xC040))), (1.0, -3.0))

    def test_llama3_rope_stretches_slow_rotations_only(self):
        scaling = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192}
        factors = write_gguf.llama3_rope_factors({**CONFIG, "head_dim": 64, "rope_theta": 500000.0, "rope_scaling": scaling})
        self.assertEqual((len(factors), factors[0], factors[-1]), (32, 1.0, 32.0))
        self.assertEqual(factors, sorted(factors))
        self.assertTrue(any(1 < factor < 32 for factor in factors))
        self.assertEqual(write_gguf.llama3_rope_factors(CONFIG), [])
        with self.assertRaisesRegex(ValueError, "rope_type is yarn"):
            write_gguf.llama3_rope_factors({**CONFIG, "rope_scaling": {"rope_type": "yarn"}})

    def test_file_has_every_tensor_at_its_aligned_place(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "config.json").write_text(json.dumps(CONFIG))
            (folder / "tokenizer.json").write_text(json.dumps(random_tokenizer.make_tokenizer(CONFIG)))
            q_proj = bytes(range(128))
            write_safetensors(folder / "model.safetensors", {
                "model.norm.weight": ([8], struct.pack("<8H", *[0x3F80] * 8)),
                "model.layers.0.self_attn.q_proj.weight": ([8, 8], q_proj),
            })
            write_gguf.write_gguf(folder, folder / "model.gguf")
            data = (folder / "model.gguf").read_bytes()
        self.assertEqual(data[:4], b"GGUF")
        self.assertEqual(struct.unpack("<IQ", data[4:16]), (3, 2))
        self.assertIn(b"output_norm.weight", data)
        info = data.index(b"blk.0.attn_q.weight") + len(b"blk.0.attn_q.weight")
        self.assertEqual(struct.unpack("<IQQIQ", data[info:info + 32]), (2, 8, 8, 30, 32))
        begin = -(-(info + 32) // 32) * 32
        self.assertEqual(struct.unpack("<8f", data[begin:begin + 32]), (1.0,) * 8)
        self.assertEqual(data[begin + 32:], write_gguf.interleave_rows(q_proj, 2, 4))

    def test_unknown_tensor_is_refused(self):
        with self.assertRaisesRegex(ValueError, "model.layers.0.self_attn.q_norm.weight"):
            write_gguf.gguf_name("model.layers.0.self_attn.q_norm.weight")


class RowsTest(unittest.TestCase):

    def test_patterns_choose_rows_in_their_order(self):
        names = [row.name for row in rows.select("*/start,qwen25-0.5b/int8/decode1")]
        self.assertEqual(names[0], "qwen25-0.5b/int8/decode1")
        self.assertEqual(len(names), 1 + 9)

    def test_pattern_without_a_row_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "qwen7/"):
            rows.select("qwen7/*")

    def test_names_are_unique_and_time_is_bounded(self):
        names = [row.name for row in rows.all_rows()]
        self.assertEqual(len(names), len(set(names)))
        self.assertLess(rows.estimate_seconds(rows.select("qwen25-0.5b/int8/decode1"), 3),
                        rows.estimate_seconds(rows.all_rows(), 3))


class PeersTest(unittest.TestCase):

    def test_commands_and_paths_are_those_that_the_peers_see(self):
        there = peers.Peers("chroot /srv", [("/data/models", "/models")], "/opt/llama", "python3", 2, "log")
        self.assertEqual(there.llama("llama-bench", "-p", "1"), ["chroot", "/srv", "/opt/llama/llama-bench", "-p", "1"])
        self.assertEqual(there.path("/data/models/a.gguf"), "/models/a.gguf")
        self.assertEqual(there.path("/data/models2/a.gguf"), "/data/models2/a.gguf")
        here = peers.Peers("", [], "", "none", 2, "log")
        self.assertEqual(here.llama("llama-bench"), ["llama-bench"])
        self.assertFalse(here.has_transformers)


class HttpLoadTest(unittest.TestCase):

    def serve(self, pieces):
        """The port of a server that answers each call with these pieces."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                        request = b""
                        while not request.endswith(b"}"):  # of the body; the head has none
                            request += connection.recv(1 << 16)
                        for piece in pieces:
                            connection.sendall(piece)

        threading.Thread(target=answer, daemon=True).start()
        return listener.getsockname()[1]

    def test_counts_what_the_server_says(self):
        port = self.serve([b"HTTP/1.1 200 OK\r\n\r\n", b'data: {"content":"a","stop":false}\n\nda', b'ta: {"content":"b","stop":false}\n\n',
                           b'data: {"content":"","stop":true,"timings":{"predicted', b'_n":2}}\n\n'])
        result = http_load.run_load(port, streams=2, requests=3, prompt_tokens=4, new_tokens=2, vocabulary=http_load.Vocabulary(400, [130]))
        self.assertEqual(result["completed_count"], 3)
        self.assertGreater(result["time_to_first_token_ms"]["p50"], 0)

    def test_short_answer_is_an_error(self):
        port = self.serve([b'data: {"stop":false}\n\n', b'data: {"stop":true,"timings":{"predicted_n":1}}\n\n'])
        with self.assertRaisesRegex(RuntimeError, "1 of 2 tokens"):
            http_load.run_load(port, 1, 1, 4, 2, http_load.Vocabulary(400, []))

    def test_answer_without_a_token_in_time_is_an_error(self):
        port = self.serve([b'data: {"stop":true,"timings":{"predicted_n":2}}\n\n'])
        with self.assertRaisesRegex(RuntimeError, "no token before the end"):
            http_load.run_load(port, 1, 1, 4, 2, http_load.Vocabulary(400, []))

    def test_percentile_is_the_nearest_rank(self):
        self.assertEqual([http_load.percentile(range(1, 201), percent) for percent in (50, 90, 99)], [100, 180, 198])
        self.assertEqual(http_load.percentile([7], 99), 7)


class InterruptTest(unittest.TestCase):

    def program(self, name, folder):
        """A program that says its process id and then never ends."""
        path = pathlib.Path(folder) / name
        path.write_text(f"#!/bin/sh\necho $$ > {folder}/pid\necho started\nexec sleep 1000\n")
        path.chmod(0o755)
        return path

    def assert_ended(self, folder):
        with self.assertRaises(ProcessLookupError):
            os.kill(int((pathlib.Path(folder) / "pid").read_text()), 0)

    def test_phyllo_that_is_starting_is_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            server = phyllo.Phyllo(self.program("phyllo", folder), 1, f"{folder}/log")
            with unittest.mock.patch.object(phyllo.json, "loads", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
                server.start_server(pathlib.Path(folder), rows.MODELS["qwen25-0.5b"], "int8", folder)
            self.assert_ended(folder)

    def test_llama_server_that_is_starting_is_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            self.program("llama-server", folder)
            there = peers.Peers("", [], folder, "none", 1, f"{folder}/log")

            def interrupt(*_, **__):
                while not (pathlib.Path(folder) / "pid").exists() or not (pathlib.Path(folder) / "pid").read_text():
                    pass
                raise KeyboardInterrupt

            with unittest.mock.patch.object(peers.urllib.request, "urlopen", interrupt), self.assertRaises(KeyboardInterrupt):
                there.start_server(pathlib.Path(folder), rows.MODELS["qwen25-0.5b"], "int8")
            self.assert_ended(folder)


class ReportTest(unittest.TestCase):

    MACHINE = {"began": "2026-01-01 00:00 UTC", "minutes": 3.0, "cpu_count": 2, "cpu": "a CPU", "kernel": "6", "transparent_huge_pages": "madvise",
               "load_averages": [0.1, 0.2], "steal_percent": 0.0}
    SETTINGS = {"threads": 2, "rounds": 2, "quick": False, "versions": {"llama.cpp": "b1"}}

    def test_ratio_is_the_median_of_the_rounds(self):
        self.assertEqual(report.ratio([10, 30, 90], [1, 10, 10]), 9)
        self.assertIsNone(report.ratio([], [1]))

    def test_numbers_have_three_digits(self):
        self.assertEqual([report.number(value) for value in (1.234, 12.34, 123.4, 12345)], ["1.23", "12.3", "123", "12 345"])
        self.assertEqual(report.shown([90, 100, 110]), "100 ± 10 %")

    def test_tables_show_ratios_floors_and_failures(self):
        chosen = rows.select("qwen25-0.5b/int8/prefill,qwen25-0.5b/int8/serving8,qwen25-0.5b/int8/start")
        results = measure.Results()
        prefill, serving, start = chosen
        for rate in (1000, 1100):
            results.add(prefill, "phyllo", "in process", rate)
            results.add(prefill, "phyllo", "gateway", rate - 100)
            results.add(prefill, "phyllo", "bound", 1200)
        results.add(prefill, "llama.cpp", "rate", 300)
        results.add(prefill, "llama.cpp", "rate", 300)
        results.add(serving, "phyllo", "rate", 100)
        results.add(start, "phyllo", "start", 3)
        results.add(start, "phyllo", "start", 1)
        results.errors.append("llama.cpp broke")
        text = report.markdown(chosen, results, self.MACHINE, self.SETTINGS)
        self.assertIn("| Qwen2.5-0.5B, int8 | prefill 512 | 1 050 ± 5 % | 950 ± 5 % | 88 % | 300 ± 0 % (Q8_0) | 3.17 (≥ 5 missed) |", text)
        self.assertIn("| Qwen2.5-0.5B, int8 | 8 | 100 |", text)
        self.assertIn("| 3.00 / 1.00 |", text)
        self.assertIn("- llama.cpp broke", text)
        values = report.to_json(chosen, results, self.MACHINE, self.SETTINGS)
        self.assertEqual(values["rows"][0]["values"]["phyllo in process"], [1000, 1100])


class ArgumentsTest(unittest.TestCase):

    TOOLS = ["--phyllo=p", "--make_random_checkpoint=m", "--configs=c"]

    def error(self, *arguments):
        with contextlib.redirect_stderr(io.StringIO()) as errors, self.assertRaises(SystemExit):
            compare.parse_arguments([*self.TOOLS, *arguments])
        return errors.getvalue()

    def test_errors_name_value_and_limit(self):
        self.assertIn("--rounds is 0, must be in [1, 100]", self.error("--rounds=0"))
        self.assertIn("\"x\" matches no row", self.error("--rows=x"))
        self.assertIn("--peer_mount is /a, must be HERE=THERE", self.error("--peer_mount=/a"))

    def test_quick_is_one_round(self):
        self.assertEqual(compare.parse_arguments([*self.TOOLS, "--quick"]).rounds, 1)


if __name__ == "__main__":
    unittest.main()
