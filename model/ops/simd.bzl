"""Kernels that are compiled once for each instruction set."""

load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("//bazel:copts.bzl", "PHYLLO_COPTS")

def simd_kernel_library(name, srcs, hdrs, level):
    """The sources for x86-64-<level>, in the namespace of simd_vector_<level>.h.

    The compiler fuses no multiply-adds by itself, so that the levels agree in every bit.
    """
    cc_library(
        name = name,
        srcs = srcs + hdrs,
        copts = PHYLLO_COPTS + [
            "-O3",
            "-march=x86-64-" + level,
            "-ffp-contract=off",
            # GCC 12's own AVX-512 header initialises its "undefined" operands with themselves.
            "-Wno-maybe-uninitialized",
            "-Wno-uninitialized",
        ],
        local_defines = ["PHYLLO_SIMD_VECTOR_HEADER=\\\"model/ops/simd_vector_%s.h\\\"" % level],
        visibility = ["//visibility:private"],
    )
