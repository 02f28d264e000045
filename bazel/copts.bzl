"""Compiler options of our own code: warnings are errors."""

PHYLLO_COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-sign-compare",
    "-Wno-unused-parameter",
    "-Wno-error=deprecated-declarations",
]
