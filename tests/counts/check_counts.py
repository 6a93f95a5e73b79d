#!/usr/bin/env python3
"""Runs a program whose counts are known and compares, to the unit, what simrun says (--json) under several ways of
cutting the code.

The program's source says what to expect: `// counts: NAME=N ...` for the totals, `// threads: INDEX: NAME=N ...; ...`
for single threads, `// needs: FEATURE ...` words of /proc/cpuinfo. Exit status 77: not possible on this processor.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

WAYS = {
    "trace": ["--mode", "trace"],
    "single": ["--mode", "trace", "--max-superblock", "1"],
    "short": ["--mode", "trace", "--max-superblock", "3", "--no-link"],
    "noelide": ["--mode", "trace", "--no-elide"],
    "safepoints": ["--mode", "trace", "--force-safe-points", "2", "--ring-size", "16KiB"],
    "count": ["--mode", "count"],
    "countsingle": ["--mode", "count", "--max-superblock", "1"],
    "countsafepoints": ["--mode", "count", "--force-safe-points", "2", "--no-link"],
    "sim": ["--mode", "sim", "--config", "l3_8core.yaml"],
}


def expectations(source):
    """{"totals" or index of a thread: {name: number}}, needed features."""
    expected, needs = {}, []
    with open(source) as lines:
        for line in lines:
            kind, _, rest = line[3:].partition(":")
            if not line.startswith("// "):
                continue
            if kind == "counts":
                expected["totals"] = numbers(rest)
            elif kind == "threads":
                for part in rest.split(";"):
                    index, _, words = part.partition(":")
                    expected[int(index)] = numbers(words)
            elif kind == "needs":
                needs += rest.split()
    return expected, needs


def numbers(words):
    return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", words)}


def has_features(needs):
    with open("/proc/cpuinfo") as text:
        return set(needs) <= set(text.read().split())


def counts_of(simrun, options, command, seconds=60):
    with tempfile.TemporaryDirectory(prefix="simrun_counts_") as directory:
        result = os.path.join(directory, "result.json")
        done = subprocess.run(simrun + ["--quiet", "--json", result] + options + ["--"] + command, capture_output=True,
                              timeout=seconds)
        if done.returncode:
            raise RuntimeError("status %d: %s" % (done.returncode, done.stderr.decode(errors="replace")))
        with open(result) as text:
            return json.load(text)


def compare(result, expected, way):
    threads = {thread["index"]: thread for thread in result["threads"]}
    found = []
    for part, names in expected.items():
        if result["mode"] == "count":
            names = {name: names[name] for name in ("instructions", "syscalls") if name in names}
        actual = result["totals"] if part == "totals" else threads.get(part, {})
        found += ["%s: %s of %s is %s, expected %d" % (way, name, part, actual.get(name), number)
                  for name, number in names.items() if actual.get(name) != number]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simrun", required=True)
    parser.add_argument("source")
    parser.add_argument("program")
    arguments = parser.parse_args()
    expected, needs = expectations(arguments.source)
    if not expected:
        print("%s says no counts" % arguments.source)
        return 1
    if not has_features(needs):
        print("this processor lacks " + " ".join(needs))
        return 77
    found = []
    for way, options in WAYS.items():
        try:
            found += compare(counts_of(shlex.split(arguments.simrun), options, [arguments.program]), expected, way)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            found.append("%s: %s" % (way, error))
    print("\n".join(found) or "all counts as expected")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
