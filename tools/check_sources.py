#!/usr/bin/env python3
"""Checks the sources against the rules that need no compiler: check_sources.py [ROOT]

Bounds of files and functions, forbidden constructs, layers. CONTRIBUTING.md says what the rules are for.
Prints one line a finding, "file:line: what"; the exit code is 1 if there is one.
"""

import os
import pathlib
import re
import subprocess
import sys

_OUR_FOLDERS = ("bazel", "clients", "model", "proto", "services", "tests")

# Lines a file may have; the first pattern that matches its path counts.
_FILE_BOUNDS = (
    (r"_test\.cc$", 500),
    (r"\.h$", 200),
    (r"\.cc$", 400),
    (r"(^|/)BUILD(\.bazel)?$", 250),
    (r"\.proto$", 250),
)
_FUNCTION_BOUND = 60
_PUBLIC_METHOD_BOUND = 12
_CONSTRUCTOR_ARGUMENT_BOUND = 5

# (what to find, in which paths it is allowed, what to say). Comments and strings are blanked before.
_FORBIDDEN = (
    (r"\bstd::(recursive_|shared_|timed_)*mutex\b|\bstd::condition_variable|\bstd::(lock_guard|unique_lock|scoped_lock)\b",
     r"^$", "absl::Mutex is the only lock"),
    (r"\bsleep_for\b|\bsleep_until\b|\babsl::SleepFor\b|\b(u|nano)?sleep\s*\(",
     r"^$", "no sleeping: wait with a deadline for what must happen"),
    (r"^\s*using\s+namespace\b", r"^$", "no using-directives"),
    (r"\bthrow\b|\btry\s*\{|\bcatch\s*\(",
     # jinja_template.cc: a template's function stops minja by throwing; the exception barrier catches it.
     r"(^|/)exception_barrier(_test)?\.(h|cc)$|^model/tokenizer/jinja_template\.cc$",
     "no exceptions outside exception_barrier.h"),
    (r"\bABSL_(RETIRED_)?FLAG\s*\(|\bABSL_DECLARE_FLAG\s*\(|\babsl::(GetFlag|SetFlag)\b",
     # service_flags.cc: the flags that the four services' mains share.
     r"(^|[/_])main\.cc$|^services/common/service_flags\.cc$", "flags are defined and read in main only"),
)

# (in which files, which includes, except in which files, what to say)
_LAYERS = (
    (r"^model/", r"^(phyllo/.*\.pb\.h|proto/|services/|clients/|grpc|google/protobuf)", r"^$",
     "model knows no protos, RPC, services or clients"),
    (r"^services/", r"^clients/", r"^$", "services do not see clients"),
    (r"^clients/", r"^model/(?!base/|tensor/)", r"^clients/(cli|bench/model)/", "clients see protos, services/common and model/base only"),
    (r"^clients/cli/", r"^model/(?!base/|tensor/|config/|checkpoint/|gguf/|transformer/precision/)", r"^$",
     "of the model, the command line sees config, checkpoint, gguf and precisions only"),
    (r"^clients/", r"^services/(?!common/)", r"^$", "clients do not see a service's code"),
    (r"^(bazel|clients|model|services|tests)/", r"^oneapi/", r"^model/onednn/", "oneDNN is included in model/onednn only"),
)


def blank_comments_and_strings(text):
    """The same text, same lines, with the inside of comments, strings and character literals as blanks."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)
    return token.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def functions(text):
    """(first line, number of lines, first line's text) of each function defined at the left margin."""
    start = None
    for number, line in enumerate(blank_comments_and_strings(text).split("\n"), 1):
        if line.startswith("}") and start is not None:
            first, header = start
            if "(" in header and not re.match(r"\s*(namespace|class|struct|enum|union|INSTANTIATE_)", header) and "= {" not in header:
                yield first, number - first + 1, header.strip()
            start = None
        elif re.match(r"[A-Za-z_:\[~]", line) and not line.startswith(("#", "namespace", "public:", "private:", "protected:")):
            if start is None:
                start = (number, line)
            if line.rstrip().endswith((";", "}")):
                start = None
        elif start is not None and "{" not in start[1]:
            start = (start[0], start[1] + line)
            if line.rstrip().endswith(";") and "{" not in start[1]:
                start = None


def classes(text):
    """(first line, name, declarations) of each class at the left margin; a declaration is (line, section, text)."""
    current = None
    for number, line in enumerate(blank_comments_and_strings(text).split("\n"), 1):
        opening = re.match(r"class (?:\w+\([^)]*\) )?(\w+)[^;]*\{\s*$", line)
        if opening:
            current = (number, opening.group(1), [])
            section, depth = "private", 0
        elif current and line.startswith("}"):
            yield current
            current = None
        elif current:
            label = re.match(r"\s*(public|protected|private):", line)
            if label and depth == 0:
                section = label.group(1)
            elif depth == 0 and re.match(r"  \S", line):
                current[2].append((number, section, line.strip()))
            elif current[2] and depth == 0 and line.strip():
                of, in_section, so_far = current[2][-1]
                current[2][-1] = (of, in_section, so_far + " " + line.strip())
            depth += line.count("{") - line.count("}")


def _argument_count(declaration):
    """Of the first parenthesis; commas inside <>, (), [] and {} separate no arguments."""
    depth = 0
    count = 1
    arguments = declaration.split("(", 1)[1]
    for position, character in enumerate(arguments):
        if character == ")" and depth == 0:
            return 0 if not arguments[:position].strip() else count
        depth += (character in "<([{") - (character in ">)]}")
        count += character == "," and depth == 0
    return count


def check_classes(path, text):
    if not path.endswith((".h", ".cc")):
        return
    for first, name, declarations in classes(text):
        methods = 0
        for number, section, declaration in declarations:
            if re.match(rf"(explicit |constexpr )*{name}\(", declaration):
                count = _argument_count(declaration)
                if count > _CONSTRUCTOR_ARGUMENT_BOUND:
                    yield number, f"constructor of {count} arguments, at most {_CONSTRUCTOR_ARGUMENT_BOUND}: take Options"
            elif section == "public" and "(" in declaration and not re.match(
                    r"~|friend |using |static_assert|template|struct |class |enum |static constexpr", declaration
            ) and "operator=" not in declaration and not re.search(r"\boverride\b", declaration):
                methods += 1
        if methods > _PUBLIC_METHOD_BOUND:
            yield first, f"class {name} has {methods} public methods, at most {_PUBLIC_METHOD_BOUND}"


def check_bounds(path, text):
    lines = text.count("\n")
    bound = next((bound for pattern, bound in _FILE_BOUNDS if re.search(pattern, path)), None)
    if bound is not None and lines > bound:
        yield 1, f"{lines} lines, at most {bound}"
    if path.endswith((".h", ".cc")):
        for first, count, header in functions(text):
            if count > _FUNCTION_BOUND:
                yield first, f"function of {count} lines, at most {_FUNCTION_BOUND}: {header[:60]}"


def check_forbidden(path, text):
    if path.endswith((".h", ".cc")):
        for number, line in enumerate(blank_comments_and_strings(text).split("\n"), 1):
            for pattern, allowed, message in _FORBIDDEN:
                if re.search(pattern, line) and not re.search(allowed, path):
                    yield number, message
    for number, line in enumerate(text.split("\n"), 1):
        if re.search(r"\bTODO\b(?!\([\w.-]+\): \S)", line):
            yield number, "TODO(owner): condition"
        if re.search(r"\bNOLINT(NEXTLINE)?\b(?!\([\w.-]+\): \S)", line):
            yield number, "NOLINT(check): reason"


def check_layers(path, text):
    service = re.match(r"services/(\w+)/", path)
    for number, line in enumerate(text.split("\n"), 1):
        include = re.match(r'#include ["<]([^">]+)[">]', line)
        if not include or not path.endswith((".h", ".cc")):
            continue
        for where, what, exempt, message in _LAYERS:
            if re.search(where, path) and re.search(what, include.group(1)) and not re.search(exempt, path):
                yield number, message
        other = re.match(r"services/(\w+)/", include.group(1))
        if service and other and other.group(1) not in (service.group(1), "common"):
            yield number, f"services/{service.group(1)} does not see services/{other.group(1)}"


def check_file(path, text):
    """[(line, what)] of one file; `path` is relative to the repository."""
    return sorted(finding for check in (check_bounds, check_classes, check_forbidden, check_layers) for finding in check(path, text))


def _our_files(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
                            check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    for path in listed.splitlines():
        if path.startswith(tuple(folder + "/" for folder in _OUR_FOLDERS)) and re.search(
                r"\.(h|cc|proto|bzl|bazel)$", path) and os.path.exists(root / path):
            yield path


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1])
    count = 0
    files = 0
    for path in _our_files(root):
        files += 1
        for line, what in check_file(path, (root / path).read_text(encoding="utf-8")):
            count += 1
            print(f"{path}:{line}: {what}")
    print(f"{files} files, {count} findings")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
