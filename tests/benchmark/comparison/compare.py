#!/usr/bin/env python3
"""Compares Phyllo with llama.cpp, transformers and the matmul-only bound, taking turns; README.md says how to call it."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import sys

import checkpoints
import measure
import peers as peers_module
import phyllo as phyllo_module
import processes
import report
import rows as rows_module


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="compare", description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--out", default="benchmark_results", help="folder of the tables (compare.md), all values (compare.json) and the programs' messages")
    parser.add_argument("--models", default="benchmark_models", help="folder of the checkpoints; what is missing is made, 10 GB for all")
    parser.add_argument("--rows", default="*", help="patterns of rows, separated by commas")
    parser.add_argument("--list", action="store_true", help="shows the rows and how long they take")
    parser.add_argument("--make_models", action="store_true", help="makes the checkpoints and measures nothing")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured")
    parser.add_argument("--quick", action="store_true", help="one short round: shows that everything works")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="compute threads of every program")
    parser.add_argument("--tuned", action="store_true", help="measures llama.cpp's BF16 with its weights in huge pages as well")
    parser.add_argument("--peer_prefix", default="", help="command that peers run behind, such as \"chroot /srv/reference\"")
    parser.add_argument("--peer_mount", action="append", default=[], metavar="HERE=THERE", help="the peers see folder HERE as THERE")
    parser.add_argument("--llama_cpp", default="", help="folder of llama-bench, llama-server and llama-quantize as the peers see it; empty: on their PATH; none: without llama.cpp")
    parser.add_argument("--python", default="python3", help="Python with torch and transformers as the peers see it; none: without transformers")
    # The programs of the build; `bazel run` gives them.
    parser.add_argument("--phyllo", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--make_random_checkpoint", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--configs", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.rounds > 100:
        parser.error(f"--rounds is {options.rounds}, must be in [1, 100]")
    if options.threads < 1 or options.threads > 1024:
        parser.error(f"--threads is {options.threads}, must be in [1, 1024]")
    for mount in options.peer_mount:
        if "=" not in mount:
            parser.error(f"--peer_mount is {mount}, must be HERE=THERE")
    try:
        options.rows = rows_module.select(options.rows)
    except ValueError as error:
        parser.error(str(error))
    if options.quick:
        options.rounds = 1
    # `bazel run` starts the program elsewhere and says where the user was.
    here = pathlib.Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    options.out = (here / options.out).absolute()
    options.models = (here / options.models).absolute()
    for name in ("phyllo", "make_random_checkpoint", "configs"):
        setattr(options, name, pathlib.Path(getattr(options, name)).absolute())
    return options


def list_rows(options):
    for row in options.rows:
        floor = f"  at least {row.floor:g} times llama.cpp" if row.floor else ""
        print(f"{row.name}{floor}")
    print(f"about {rows_module.estimate_seconds(options.rows, options.rounds) / 60:.0f} minutes")


def make_peers(options, log):
    mounts = [(str(pathlib.Path(here).absolute()), there) for here, there in (mount.split("=", 1) for mount in options.peer_mount)]
    return peers_module.Peers(options.peer_prefix, mounts, options.llama_cpp, options.python, options.threads, log)


def prepare(options, peers, log):
    precisions = {}
    for row in options.rows:
        precisions.setdefault(row.model, set()).add(row.precision)
    for model, of_model in precisions.items():
        checkpoints.prepare(options.models, model, sorted(of_model), options, peers, log)
    options.vocabularies = measure.read_vocabularies(options.models, precisions)


def run(options, peers, phyllo, versions):
    shutil.rmtree(options.out / "packed_cache", ignore_errors=True)  # The first start finds nothing.
    results, machine = measure.Results(), processes.Machine()
    settings = {"rounds": options.rounds, "threads": options.threads, "quick": options.quick, "versions": versions}
    one_round = measure.Round(options, phyllo, peers, results)
    for number in range(options.rounds):
        for (model, precision), rows in rows_module.cells(options.rows).items():
            print(f"round {number + 1} of {options.rounds}", flush=True)
            machine.note_load()
            one_round.run(model, precision, rows)
            # After each step, so that an interrupted run has what was measured.
            write(options, results, machine.report(), settings)
    shutil.rmtree(options.out / "packed_cache", ignore_errors=True)
    return results


def write(options, results, machine, settings):
    (options.out / "compare.md").write_text(report.markdown(options.rows, results, machine, settings), encoding="utf-8")
    (options.out / "compare.json").write_text(json.dumps(report.to_json(options.rows, results, machine, settings), indent=1) + "\n",
                                              encoding="utf-8")


def main(arguments):
    options = parse_arguments(arguments)
    if options.list:
        list_rows(options)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    log = options.out / "compare.log"
    peers = make_peers(options, log)
    phyllo = phyllo_module.Phyllo(options.phyllo, options.threads, log)
    try:
        versions = {"Phyllo": phyllo.version(), **peers.check()}
        prepare(options, peers, log)
    except (processes.ProgramError, OSError, ValueError) as error:
        print(f"compare: {error}", file=sys.stderr)
        return 1
    if options.make_models:
        return 0
    print(f"about {rows_module.estimate_seconds(options.rows, options.rounds) / 60:.0f} minutes", flush=True)
    results = run(options, peers, phyllo, versions)
    print((options.out / "compare.md").read_text(encoding="utf-8"))
    return 1 if results.errors else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # Ends what was started.
    sys.exit(main(sys.argv[1:]))
