#!/usr/bin/env python3
"""Tests of check_sources.py."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import check_sources  # pylint: disable=wrong-import-position


def _findings(path, text):
    return [what for _, what in check_sources.check_file(path, text)]


def _function(lines):
    return "int F(int a,\n      int b) {\n" + "  a += b;\n" * (lines - 3) + "}\n"


class BoundsTest(unittest.TestCase):
    def test_accepts_a_header_at_the_bound(self):
        self.assertEqual(_findings("model/a.h", "\n" * 200), [])

    def test_refuses_a_header_beyond_the_bound(self):
        self.assertEqual(_findings("model/a.h", "\n" * 201), ["201 lines, at most 200"])

    def test_gives_tests_more_room_than_sources(self):
        self.assertEqual(_findings("model/a_test.cc", "\n" * 500), [])
        self.assertEqual(_findings("model/a.cc", "\n" * 500), ["500 lines, at most 400"])

    def test_bounds_build_files_and_protos(self):
        self.assertEqual(_findings("model/BUILD.bazel", "\n" * 251), ["251 lines, at most 250"])
        self.assertEqual(_findings("proto/a.proto", "\n" * 251), ["251 lines, at most 250"])

    def test_accepts_a_function_at_the_bound(self):
        self.assertEqual(_findings("model/a.cc", _function(60)), [])

    def test_refuses_a_function_beyond_the_bound(self):
        self.assertEqual(_findings("model/a.cc", _function(61)), ["function of 61 lines, at most 60: int F(int a,      int b) {"])

    def test_a_class_or_a_table_is_no_function(self):
        self.assertEqual(_findings("model/a.cc", "class A {\n" + "  int f();\n" * 70 + "};\n"), [])
        self.assertEqual(_findings("model/a.cc", "constexpr int kT[] = {\n" + "  f(1),\n" * 70 + "};\n"), [])

    def test_a_brace_in_a_string_ends_no_function(self):
        text = "void F() {\n  s = R\"(\n}\n)\";\n" + "  a();\n" * 60 + "}\n"
        self.assertEqual(_findings("model/a.cc", text), ["function of 65 lines, at most 60: void F() {"])


class ClassesTest(unittest.TestCase):
    @staticmethod
    def _class(methods, section="public"):
        return f"class A {{\n {section}:\n  A(int a, std::map<int, int> b);\n  ~A();\n" + "".join(
            f"  int f{i}(int a,\n        int b) const;\n" for i in range(methods)) + " private:\n  int g();\n};\n"

    def test_accept_twelve_public_methods(self):
        self.assertEqual(_findings("model/a.h", self._class(12)), [])

    def test_refuse_thirteen_public_methods(self):
        self.assertEqual(_findings("model/a.h", self._class(13)), ["class A has 13 public methods, at most 12"])

    def test_do_not_count_private_methods(self):
        self.assertEqual(_findings("model/a.h", self._class(13, "private")), [])

    def test_do_not_count_calls_in_inline_bodies(self):
        text = "class A {\n public:\n  int f() {\n" + "    g();\n" * 20 + "  }\n};\n"
        self.assertEqual(_findings("model/a.h", text), [])

    def test_refuse_six_constructor_arguments(self):
        text = "class A {\n public:\n  A(int a, B<int, int> b, int c,\n    int d, int e, int f);\n};\n"
        self.assertEqual(_findings("model/a.h", text), ["constructor of 6 arguments, at most 5: take Options"])


class ForbiddenTest(unittest.TestCase):
    def test_refuses_standard_locks(self):
        self.assertEqual(_findings("model/a.h", "std::mutex mutex_;\n"), ["absl::Mutex is the only lock"])

    def test_refuses_sleeping(self):
        self.assertEqual(len(_findings("model/a_test.cc", "std::this_thread::sleep_for(1s);\nabsl::SleepFor(d);\n")), 2)

    def test_refuses_using_directives_but_not_using_declarations(self):
        self.assertEqual(_findings("model/a.cc", "using namespace std;\nusing std::string;\n"), ["no using-directives"])

    def test_refuses_exceptions_outside_the_barrier(self):
        text = "try {\n} catch (const E&) {\n}\nthrow 1;\n"
        self.assertEqual(len(_findings("model/a.cc", text)), 3)
        self.assertEqual(_findings("model/base/exception_barrier.h", text), [])

    def test_refuses_flags_outside_main(self):
        self.assertEqual(len(_findings("services/a/server.cc", "ABSL_FLAG(int, port, 0, \"\");\n")), 1)
        self.assertEqual(_findings("services/a/a_main.cc", "ABSL_FLAG(int, port, 0, \"\");\n"), [])

    def test_ignores_comments_and_strings(self):
        self.assertEqual(_findings("model/a.cc", "// throw std::mutex\nf(\"throw\"); /* try {\n */\n"), [])

    def test_a_digit_separator_starts_no_literal(self):
        self.assertEqual(_findings("model/a.cc", "int a = 1'000; throw 2'000;\n"), ["no exceptions outside exception_barrier.h"])

    def test_wants_an_owner_and_a_condition(self):
        self.assertEqual(_findings("model/a.cc", "// TODO fix\n"), ["TODO(owner): condition"])
        self.assertEqual(_findings("model/a.cc", "// TODO(ann): remove with oneDNN 3.12\n"), [])

    def test_wants_the_check_and_the_reason_of_a_nolint(self):
        self.assertEqual(_findings("model/a.cc", "f();  // NOLINT\n"), ["NOLINT(check): reason"])
        self.assertEqual(_findings("model/a.cc", "f();  // NOLINT(bugprone-x): because\n"), [])


class LayersTest(unittest.TestCase):
    def test_model_sees_no_proto_and_no_grpc(self):
        text = '#include "phyllo/common/v1/tensor.pb.h"\n#include "grpcpp/grpcpp.h"\n#include <grpc/grpc.h>\n'
        self.assertEqual(len(_findings("model/a.cc", text)), 3)

    def test_a_service_does_not_see_another(self):
        text = '#include "services/common/a.h"\n#include "services/gateway/b.h"\n'
        self.assertEqual(_findings("services/gateway/a.cc", text), [])
        self.assertEqual(_findings("services/tokenizer/a.cc", text), ["services/tokenizer does not see services/gateway"])

    def test_clients_see_neither_the_model_nor_a_service(self):
        text = '#include "model/config/model_config.h"\n#include "services/gateway/b.h"\n'
        self.assertEqual(len(_findings("clients/cpp/a.cc", text)), 2)

    def test_the_command_line_sees_the_config(self):
        self.assertEqual(_findings("clients/cli/a.cc", '#include "model/config/model_config.h"\n'), [])
        self.assertEqual(len(_findings("clients/cli/a.cc", '#include "model/transformer/transformer.h"\n')), 1)

    def test_onednn_is_for_its_folder_only(self):
        self.assertEqual(_findings("model/onednn/a.cc", '#include "oneapi/dnnl/dnnl.h"\n'), [])
        self.assertEqual(len(_findings("model/ops/a.cc", '#include "oneapi/dnnl/dnnl.h"\n')), 1)


if __name__ == "__main__":
    unittest.main()
