#!/usr/bin/env python3
"""Random instruction sequences, natively and under simrun: final registers, flags, vector registers and memory must be
equal.

Equal hardware gives equal undefined flags, so nothing is masked. On a mismatch: the seed, the sequence, what differs,
and (--reduce) the shortest part of it that still differs. SIMRUN in the environment replaces --simrun; an empty one
compares native with native.
"""

import argparse
import difflib
import os
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import generate  # noqa: E402
from modes import MODES  # noqa: E402


def run(prefix, program, arguments=(), seconds=300):
    """(status, lines of output, errors); status None: it did not end."""
    try:
        done = subprocess.run(prefix + [program] + [str(a) for a in arguments], capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode().splitlines(), "did not end"
    return done.returncode, done.stdout.decode(errors="replace").splitlines(), done.stderr.decode(errors="replace")


def prefix_for(simrun, mode):
    return simrun + ["--quiet"] + MODES[mode] + ["--"] if simrun else []


def first_difference(native, ours):
    for index, (a, b) in enumerate(zip(native, ours)):
        if a != b:
            return index
    return min(len(native), len(ours))


def differs(nodes_of, sequence, features, prefix):
    """Does the sequence, with these nodes, behave differently?"""
    kept, sequence.nodes = sequence.nodes, nodes_of
    try:
        with tempfile.TemporaryDirectory() as directory:
            program = generate.build([sequence], features, directory, quiet=True)
            native = run([], program, (sequence.index, 1), seconds=5)
            return native[0] == 0 and run(prefix, program, (sequence.index, 1), seconds=20) != native
    except subprocess.CalledProcessError:
        return False  # a label went away with the node that held it
    finally:
        sequence.nodes = kept


def reduce(sequence, features, prefix):
    nodes, changed = list(sequence.nodes), True
    while changed:
        changed = False
        size = max(len(nodes) // 2, 1)
        while size:
            at = 1  # the first node sets up the pointers
            while at < len(nodes):
                without = nodes[:at] + nodes[at + size:]
                unwrapped = nodes[:at] + nodes[at].within + nodes[at + 1:] if size == 1 and nodes[at].within else None
                if differs(without, sequence, features, prefix):
                    nodes, changed = without, True
                elif unwrapped and differs(unwrapped, sequence, features, prefix):
                    nodes, changed = unwrapped, True
                else:
                    at += 1
            size //= 2
    sequence.nodes = nodes
    return sequence


def how_many_before(index, program, prefix):
    before = 1
    while before <= index:
        part = (index - before, before + 1)
        if run([], program, part, 60) != run(prefix, program, part, 60):
            return before
        before *= 2
    return "more than %d" % (before // 2)


def report(seed, sequence, program, features, prefix, wants_reduction):
    index = sequence.index
    print("seed %d, sequence %d differs:" % (seed, index))
    native, ours = (run(p, program, (index, 1, "dump"), seconds=30) for p in ([], prefix))
    if native == ours:
        print("  (alone it does not: it takes the %s sequences before it)" % how_many_before(index, program, prefix))
    else:
        print("  status %s, natively %s" % (ours[0], native[0]))
        print("\n".join("  " + text for text in list(difflib.unified_diff(native[1], ours[1], "native", "simrun",
                                                                          lineterm="", n=0))[:30]))
        if wants_reduction:
            reduce(sequence, features, prefix)
    print("\n".join("    " + text for text in sequence.lines()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simrun", default="")
    parser.add_argument("--mode", choices=MODES, action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--only", type=int, help="this sequence alone")
    parser.add_argument("--reduce", action="store_true")
    parser.add_argument("--show", action="store_true", help="print the sequences and do not run them")
    parser.add_argument("--defined-flags", action="store_true",
                        help="define all flags behind instructions that leave some undefined")
    arguments = parser.parse_args()
    generate.Sequence.defined_flags_only = arguments.defined_flags
    features = generate.processor_features()
    sequences = [generate.Sequence(arguments.seed, i, features) for i in range(arguments.count)]
    if arguments.show:
        print(generate.program_text(sequences if arguments.only is None else [sequences[arguments.only]]))
        return 0
    simrun = shlex.split(os.environ.get("SIMRUN", arguments.simrun))
    failed = 0
    with tempfile.TemporaryDirectory(prefix="simrun_differential_") as directory:
        program = generate.build(sequences, features, directory)
        part = () if arguments.only is None else (arguments.only, 1)
        status, native, errors = run([], program, part)
        if status != 0:
            print("natively: status %s after sequence %s %s" % (status, native[-1] if native else "none", errors))
            return 1
        for mode in arguments.mode or ["trace"]:
            status, ours, errors = run(prefix_for(simrun, mode), program, part)
            if (status, ours, errors) == (0, native, ""):
                print("seed %d, %s: %d sequences equal" % (arguments.seed, mode, len(native)))
                continue
            failed = 1
            print("%s: status %s %s" % (mode, status, errors))
            at = min(first_difference(native, ours) + (arguments.only or 0), len(sequences) - 1)
            report(arguments.seed, sequences[at], program, features, prefix_for(simrun, mode), arguments.reduce)
    return failed


if __name__ == "__main__":
    sys.exit(main())
