#!/usr/bin/env python3
"""Compares instructions, loads and stores with those that Valgrind's lackey counts on the same binary.

Valgrind runs with --vex-guest-chase=no: by default it runs both halves of a recognised `a && b` whatever `a` is, and
lackey counts instructions that never ran. The two definitions differ in two ways, which are corrected for: lackey
counts a repeated string instruction once per iteration and once more, and two loads for a locked read-modify-write (its
source says how many: `// lackey: locked=N`). What remains must be equal, or with `tolerance=N` within N
ten-thousandths. With `subtract=1`, what is compared is a run with the argument 2 minus one with 1. Each of lackey's
counts is the median of five runs: the C library's reading of GLIBC_TUNABLES goes by the kernel's random bytes too, which
simrun makes the same ones in every run; of 520 runs under Valgrind it took 487 instructions fewer in 3, a few more in about
one of fifteen. Exit status 77: no valgrind.
"""

import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys

from check_counts import counts_of

# What both runs leave of the processor: without these the C library's string functions use no instructions beyond SSE2.
TUNABLES = ("glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2_Usable,-AVX2,-AVX,-AVX_Fast_Unaligned_Load,"
            "-BMI2,-SSE4_2,-SSE4_1,-SSSE3,-ERMS,-FSRM,-XSAVEC,-XSAVE,-Fast_Unaligned_Load,-LZCNT,-FMA,"
            "-Fast_Unaligned_Copy,-Fast_Rep_String,-Slow_BSF,-Prefer_PMINUB_for_stringop")
ROW = re.compile(r"^==\d+==\s+[A-Z]\d+\s+([\d,]+)\s+([\d,]+)\s+[\d,]+$", re.MULTILINE)


def number(text):
    return int(text.replace(",", ""))


def lackey_counts(valgrind, command):
    done = subprocess.run([valgrind, "--tool=lackey", "--vex-guest-chase=no", "--basic-counts=yes",
                           "--detailed-counts=yes"] + command, capture_output=True, text=True,
                          timeout=200)
    rows = ROW.findall(done.stderr)
    instructions = re.search(r"guest instrs:\s+([\d,]+)", done.stderr)
    if done.returncode or not rows or not instructions:
        raise RuntimeError("lackey: status %d: %s" % (done.returncode, done.stderr[-2000:]))
    return {"instructions": number(instructions.group(1)), "loads": sum(number(r[0]) for r in rows),
            "stores": sum(number(r[1]) for r in rows)}


def median_counts(runs):
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def minus(counts, others):
    return {name: counts[name] - others[name] for name in counts}


def settings(source):
    with open(source) as lines:
        for line in lines:
            if line.startswith("// lackey:"):
                return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}
    return {}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simrun", required=True)
    parser.add_argument("--valgrind", default="valgrind")
    parser.add_argument("source")
    parser.add_argument("program")
    arguments = parser.parse_args()
    if not os.access(arguments.valgrind, os.X_OK):
        print("no valgrind here")
        return 77
    os.environ["GLIBC_TUNABLES"] = TUNABLES
    given = settings(arguments.source)
    count_ours = lambda *words: counts_of(shlex.split(arguments.simrun), ["--mode", "trace"],
                                          [arguments.program, *words], 120)["totals"]
    count_theirs = lambda *words: median_counts([lackey_counts(arguments.valgrind, [arguments.program, *words])
                                                 for _ in range(5)])
    ours, theirs = count_ours("2"), count_theirs("2")
    if "subtract" in given:
        ours, theirs = minus(ours, count_ours("1")), minus(theirs, count_theirs("1"))
    expected = {"instructions": ours["instructions"] + ours["string_iterations"],
                "loads": ours["loads"] + given.get("locked", 0),
                "stores": ours["stores"]}
    failed = 0
    for name, value in expected.items():
        fits = abs(value - theirs[name]) <= value * given.get("tolerance", 0) // 10000
        failed |= not fits
        print("%-13s simrun %d, as lackey counts %d, lackey %d, difference %d%s" % (name, ours[name], value,
                                                                                    theirs[name], theirs[name] - value,
                                                                                   "" if fits else " TOO MUCH"))
    return failed


if __name__ == "__main__":
    sys.exit(main())
