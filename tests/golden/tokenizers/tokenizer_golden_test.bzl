"""tokenizer_golden_test: the golden test of one tokenizer."""

load("@rules_cc//cc:cc_test.bzl", "cc_test")

def tokenizer_golden_test(name, vocabulary = None, without = [], data = [], format = "tokenizer.json"):
    """Tests against the golden data of tokenizer `name`.

    Args:
      name: of the tokenizer; the target is NAME_test, or NAME_FORMAT_test.
      vocabulary: the golden tokenizer whose tokenizer.json is used, if `name` is a chat template only.
      without: added tokens left out of the vocabulary.
      data: the files, if they are in the project. The test skips if they are neither there nor in $PHYLLO_GOLDEN_DIR.
      format: of the files it is made from: tokenizer.json, tokenizer.model, merges.txt or tiktoken.
    """
    suffix = "" if format == "tokenizer.json" else "_" + format
    cc_test(
        name = name + suffix + "_test",
        size = "small",
        data = data,
        env = {
            "PHYLLO_GOLDEN_FORMAT": format,
            "PHYLLO_GOLDEN_TOKENIZER": name,
            "PHYLLO_GOLDEN_VOCABULARY": vocabulary or name,
            "PHYLLO_GOLDEN_WITHOUT": ",".join(without),
        },
        deps = [":tokenizer_golden_cases"],
    )
