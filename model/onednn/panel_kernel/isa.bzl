"""Kernels of one instruction set, which the caller chooses at run time."""

load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("//bazel:copts.bzl", "PHYLLO_COPTS")

def isa_kernel_library(name, srcs, hdrs, isa):
    """The sources compiled with the options `isa`."""
    cc_library(
        name = name,
        srcs = srcs + hdrs,
        copts = PHYLLO_COPTS + ["-O3"] + isa + [
            # GCC 12's own AVX-512 header initialises its "undefined" operands with themselves.
            "-Wno-maybe-uninitialized",
            "-Wno-uninitialized",
        ],
        visibility = ["//visibility:private"],
    )
