"""Tests phyllo_client.py against a gateway that is started as the first argument, and says "listen ADDRESS"."""

import signal
import subprocess
import sys
import unittest

import grpc

import phyllo_client

_GATEWAY = sys.argv.pop(1)


class PhylloClientTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.gateway = subprocess.Popen([_GATEWAY], stdout=subprocess.PIPE, universal_newlines=True)
        cls.address = cls.gateway.stdout.readline().split()[1]

    @classmethod
    def tearDownClass(cls):
        cls.gateway.kill()
        cls.gateway.wait()
        cls.gateway.stdout.close()

    def setUp(self):
        self.client = phyllo_client.PhylloClient(self.address)
        self.addCleanup(self.client.close)

    def test_generate_streams_pieces(self):
        answer = self.client.generate("a b c")
        self.assertEqual(list(answer), ["a ", "b ", "c "])
        self.assertEqual(answer.finished.usage.generated_token_count, 3)

    def test_chat_sends_turns(self):
        turns = [("system", "Be brief."), ("user", "x y")]
        self.assertEqual("".join(self.client.generate(turns)), "x y ")

    def test_token_ids_are_a_prompt(self):
        self.assertEqual("".join(self.client.generate([7, 8])), "7 8 ")

    def test_only_given_parameters_are_sent(self):
        request = phyllo_client.make_request("a", temperature=0, max_new_tokens=5, stop_token_ids=[1, 2], stop=["\n"])
        self.assertTrue(request.sampling.HasField("temperature"))
        self.assertFalse(request.sampling.HasField("top_k"))
        self.assertEqual(request.stopping.max_new_tokens, 5)
        self.assertEqual(list(request.stopping.stop_token_ids), [1, 2])
        self.assertEqual(list(request.stop_sequences), ["\n"])

    def test_messages_and_maps_are_parameters(self):
        request = phyllo_client.make_request("a", logit_bias={5: 1.5}, dry={"multiplier": 2}, time_limit={"seconds": 3},
                                             banned_token_sequences=[{"token_ids": [1, 2]}])
        self.assertEqual(dict(request.sampling.logit_bias), {5: 1.5})
        self.assertEqual(request.sampling.dry.multiplier, 2)
        self.assertEqual(request.stopping.time_limit.seconds, 3)
        self.assertEqual(list(request.sampling.banned_token_sequences[0].token_ids), [1, 2])

    def test_a_text_is_one_stop_sequence(self):
        self.assertEqual(list(phyllo_client.make_request("a", stop="END").stop_sequences), ["END"])

    def test_unknown_parameter_is_an_error(self):
        with self.assertRaisesRegex(TypeError, "temprature"):
            phyllo_client.make_request("a", temprature=1)

    def test_server_error_has_code_and_message(self):
        with self.assertRaises(grpc.RpcError) as raised:
            list(self.client.generate("fail"))
        self.assertEqual(raised.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("told to fail", raised.exception.details())

    def test_cancel_ends_an_endless_answer(self):
        answer = self.client.generate("forever")
        with self.assertRaises(grpc.RpcError) as raised:
            for _ in answer:
                answer.cancel()
        self.assertEqual(raised.exception.code(), grpc.StatusCode.CANCELLED)

    def test_timeout_ends_an_endless_answer(self):
        with self.assertRaises(grpc.RpcError) as raised:
            list(self.client.generate("forever", timeout=0.2))
        self.assertEqual(raised.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)

    def test_embed_gives_a_vector_for_each_text(self):
        self.assertEqual(self.client.embed(["ab", "c"], normalize=False), [[2, 97], [1, 99]])

    def test_tokenize_and_detokenize(self):
        self.assertEqual(self.client.tokenize("ab"), [97, 98])
        self.assertEqual(self.client.detokenize([97, 98]), "ab")

    def test_model_is_described(self):
        self.assertEqual(self.client.model().model, "fake")

    def test_program_prints_the_answer(self):
        done = subprocess.run([sys.executable, phyllo_client.__file__, "--address", self.address, "generate", "a b"],
                              stdout=subprocess.PIPE, universal_newlines=True, check=True)
        self.assertEqual(done.stdout, "a b \n")

    def test_program_takes_options_before_and_after_the_command(self):
        done = subprocess.run([sys.executable, phyllo_client.__file__, "--seed", "7", "generate", "a b", "--address",
                               self.address, "--temperature", "0"],
                              stdout=subprocess.PIPE, universal_newlines=True, check=True)
        self.assertEqual(done.stdout, "a b \n")

    def test_program_refuses_a_text_that_is_not_utf8(self):
        done = subprocess.run([sys.executable, phyllo_client.__file__, "--address", self.address, "generate", b"\xff"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the text cannot be read", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def _start_endless_answer(self):
        program = subprocess.Popen([sys.executable, phyllo_client.__file__, "--address", self.address, "generate", "forever"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(program.stderr.close)
        self.addCleanup(program.stdout.close)
        self.assertEqual(program.stdout.read(1), b"x")
        return program

    def test_program_ends_when_it_is_interrupted(self):
        program = self._start_endless_answer()
        program.send_signal(signal.SIGINT)
        output = program.communicate()
        self.assertEqual(program.returncode, 130)
        self.assertNotIn(b"Traceback", output[1])

    def test_program_ends_when_nobody_reads(self):
        program = self._start_endless_answer()
        program.stdout.close()
        self.assertEqual(program.stderr.read(), b"")
        self.assertEqual(program.wait(), 1)

    def test_program_chats(self):
        done = subprocess.run([sys.executable, phyllo_client.__file__, "--address", self.address, "chat"],
                              input="one\ntwo\n", stdout=subprocess.PIPE, universal_newlines=True, check=True)
        self.assertEqual(done.stdout, "one \ntwo \n")

    def test_program_reports_an_error(self):
        done = subprocess.run([sys.executable, phyllo_client.__file__, "--address", self.address, "generate", "fail"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("INVALID_ARGUMENT", done.stderr)

    def test_program_says_how_to_use_it(self):
        done = subprocess.run([sys.executable, phyllo_client.__file__, "--help"],
                              stdout=subprocess.PIPE, universal_newlines=True, check=True)
        self.assertIn("usage: ", done.stdout)

    def test_program_refuses_a_number_out_of_range(self):
        done = subprocess.run([sys.executable, phyllo_client.__file__, "--seed", "-1", "chat"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: ", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
