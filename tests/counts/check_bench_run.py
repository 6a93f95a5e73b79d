#!/usr/bin/env python3
"""bench/run itself: small runs of programs of its own, their JSON, the comparison with it, and that a program which prints
something else under simrun is reported and has no figure."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

OPTIONS = ["--only", "bytecode,configure", "--scale", "0.02", "--rounds", "1", "--no-distance"]
PRINTS_MORE = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
"$@" && echo more
"""


def run(bench, simrun, *options):
    return subprocess.run([bench, "--simrun", simrun, *OPTIONS, *options], capture_output=True, text=True, timeout=240)


def check(what, good):
    if not good:
        sys.exit("not so: " + what)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--simrun", required=True)
    parser.add_argument("bench", help="bench/run")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="simrun_bench_run_") as folder:
        kept = os.path.join(folder, "kept.json")
        first = run(arguments.bench, arguments.simrun, "--modes", "null,trace", "--counters", "-o", kept)
        print(first.stdout, first.stderr)
        if "g++ is not installed" in first.stderr:
            return 77
        check("status 0", first.returncode == 0)
        with open(kept, encoding="utf-8") as text:
            document = json.load(text)
        for name in ("bytecode", "configure"):
            for mode in ("null", "trace"):
                check(f"{name} {mode} has times", document["medians"][name][mode]["cpu"] > 0)
                check(f"{name} {mode} has a run", len(document["runs"][name][mode]) == 1)
                check(f"{name} {mode} has counters", document["counters"][name][mode]["dispatches"] > 0)
            check(f"{name} has a stream", document["counters"][name]["trace"]["stream_words"] > 0)
        check("what runs long enough has memory", document["memory"]["configure"]["null"] > 1 << 20)
        check("tables", all(head in first.stdout for head in ("Wall time", "Memory, MiB", "Counters, trace")))

        # Counters of a program with one thread do not change from run to run: as kept, but for one that is made up.
        document["counters"]["bytecode"]["null"]["dispatches"] *= 2
        with open(kept, "w", encoding="utf-8") as text:
            json.dump(document, text)
        second = run(arguments.bench, arguments.simrun, "--modes", "null", "--compare", kept)
        print(second.stdout, second.stderr)
        check("status 0 of the comparison", second.returncode == 0)
        changed = [line for line in second.stdout.splitlines() if line.startswith("- bytecode, null: dispatcher entries")]
        check("the made-up counter is listed", len(changed) == 1)
        check("a comparison of times", "then and now" in second.stdout)

        fake = os.path.join(folder, "simrun")
        with open(fake, "w", encoding="utf-8") as text:
            text.write(PRINTS_MORE)
        os.chmod(fake, 0o755)
        wrong = run(arguments.bench, fake, "--modes", "null", "--only-times")
        check("status 1 for other output", wrong.returncode == 1)
        check("it is said", "bytecode null: output differs from native" in wrong.stderr)
        check("it has no figure", "| bytecode | " in wrong.stdout and "failed" in wrong.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
