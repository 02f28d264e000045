"""cc_fuzz_test: one fuzz target, two uses.

In every build it is a test that replays the corpus and simple mutants of it (fuzz_replay_main.cc).
With --config=fuzz it is a libFuzzer binary: tools/fuzz.sh //tests/fuzz:config_fuzz_test 60
"""

load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc:cc_test.bzl", "cc_test")
load("//bazel:copts.bzl", "PHYLLO_COPTS")

def cc_fuzz_test(name, srcs, corpus, deps, **kwargs):
    """A test of `LLVMFuzzerTestOneInput`.

    Args:
      name: of the test; ends in _fuzz_test.
      srcs: sources that define extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size).
      corpus: files, each one input; usually glob(["corpus/<name>/*"]). Not empty.
      deps: what the sources include.
      **kwargs: of cc_test (size, tags, ...).
    """
    if not corpus:
        fail("%s: a fuzz test without a corpus tests nothing" % name)

    # A library of its own, so that the sources are compiled once for both uses.
    cc_library(
        name = name + "_target",
        testonly = True,
        srcs = srcs,
        copts = PHYLLO_COPTS,
        deps = deps,

        # Nothing refers to LLVMFuzzerTestOneInput but the driver, which may be libFuzzer's archive.
        alwayslink = True,
    )
    cc_test(
        name = name,
        args = ["$(locations :%s_corpus)" % name],
        data = [":%s_corpus" % name],
        linkopts = select({
            "//bazel:fuzz": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        deps = [":%s_target" % name] + select({
            "//bazel:fuzz": [],
            "//conditions:default": ["//bazel:fuzz_replay_main"],
        }),
        **kwargs
    )
    native.filegroup(
        name = name + "_corpus",
        testonly = True,
        srcs = corpus,
    )
