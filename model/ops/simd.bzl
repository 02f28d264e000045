"""Kernels that are compiled once for each instruction set."""

load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("//bazel:copts.bzl", "PHYLLO_COPTS")

def simd_kernel_library(name, srcs, hdrs, level, extension = None):
    """The sources for x86-64-<level>, over simd_vector_<level>.h, in a namespace of their own.

    The compiler fuses no multiply-adds by itself, so that the levels agree in every bit.

    Args:
      name: of the library; the namespace too.
      srcs: compiled.
      hdrs: included by them.
      level: of x86-64: v3 or v4.
      extension: further instructions, as the compiler calls them.
    """
    cc_library(
        name = name,
        srcs = srcs + hdrs,
        copts = PHYLLO_COPTS + [
            "-O3",
            "-march=x86-64-" + level,
        ] + (["-m" + extension] if extension else []) + [
            "-ffp-contract=off",
            # GCC 12's own AVX-512 header initialises its "undefined" operands with themselves.
            "-Wno-maybe-uninitialized",
            "-Wno-uninitialized",
        ],
        local_defines = [
            "PHYLLO_SIMD_VECTOR_HEADER=\\\"model/ops/simd_vector_%s.h\\\"" % level,
            "PHYLLO_SIMD_NAMESPACE=" + name,
        ],
        visibility = ["//visibility:private"],
    )
