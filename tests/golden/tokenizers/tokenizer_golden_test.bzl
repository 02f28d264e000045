"""tokenizer_golden_test: the golden test of one tokenizer."""

load("@rules_cc//cc:cc_test.bzl", "cc_test")
load("//bazel:copts.bzl", "PHYLLO_COPTS")

def tokenizer_golden_test(name, vocabulary = None, without = [], data = []):
    """Tests against the golden data of tokenizer `name`.

    Args:
      name: of the tokenizer; the target is NAME_test.
      vocabulary: the golden tokenizer whose tokenizer.json is used, if `name` is a chat template only.
      without: added tokens left out of the vocabulary.
      data: the files, if they are in the project. The test skips if they are neither there nor in $PHYLLO_GOLDEN_DIR.
    """
    cc_test(
        name = name + "_test",
        size = "small",
        srcs = ["tokenizer_golden_test.cc"],
        copts = PHYLLO_COPTS,
        data = data,
        env = {
            "PHYLLO_GOLDEN_TOKENIZER": name,
            "PHYLLO_GOLDEN_VOCABULARY": vocabulary or name,
            "PHYLLO_GOLDEN_WITHOUT": ",".join(without),
        },
        deps = [
            ":golden_tokenizer",
            "//model/base:status_matchers",
            "//model/tokenizer",
            "//model/tokenizer:chat_template",
            "//model/tokenizer:incremental_decoder",
            "//model/tokenizer/text:unicode",
            "@com_google_absl//absl/strings",
            "@com_google_googletest//:gtest_main",
        ],
    )
