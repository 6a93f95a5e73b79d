#!/usr/bin/env python3
"""What the emitted code costs, as far as it does not depend on the machine's load: bytes of code for each translated
instruction, words of stream for each executed one, entries into the dispatcher. A figure above its bound fails; so does
one of 0, for then it was not measured. The bounds are a tenth above the figures of docs/performance.md: whoever lowers
those lowers these.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

# program -> mode -> figure -> bound
BOUNDS = {
    "quicksort": {
        "null": {"code_bytes": 14.4, "dispatches": 47},
        "count": {"code_bytes": 25.3, "dispatches": 47},
        "trace": {"code_bytes": 27.3, "dispatches": 68, "words": 0.455},
    },
    "static_libc": {
        "null": {"code_bytes": 14.7, "dispatches": 1340},
        "count": {"code_bytes": 26.0, "dispatches": 1340},
        "trace": {"code_bytes": 28.4, "dispatches": 1380, "words": 0.43},
    },
    # The dynamic linker's are 1500. Not linked, each of the 100000 calls would be one more.
    "far_calls": {mode: {"dispatches": 5000} for mode in ("null", "count", "trace")},
}


def figures(simrun, mode, program):
    with tempfile.TemporaryDirectory(prefix="simrun_costs_") as directory:
        result = os.path.join(directory, "result.json")
        subprocess.run([simrun, "-q", "--mode", mode, "--json", result, "--", program], check=True, timeout=60,
                       stdout=subprocess.DEVNULL)
        with open(result) as text:
            document = json.load(text)
    engine, totals = document["engine"], document["totals"]
    return {
        "code_bytes": engine["code_bytes"] / engine["translated_instructions"],
        "dispatches": sum(engine["dispatches"].values()),
        "words": totals["stream_words"] / max(1, totals["instructions"]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simrun", required=True)
    parser.add_argument("folder", help="where the programs are")
    arguments = parser.parse_args()
    failed = 0
    for program, modes in BOUNDS.items():
        for mode, bounds in modes.items():
            found = figures(arguments.simrun, mode, os.path.join(arguments.folder, program))
            for name, bound in bounds.items():
                good = 0 < found[name] <= bound
                failed += not good
                print("%s %s %s: %.3f, at most %.3f%s" % (program, mode, name, found[name], bound, "" if good else " FAILED"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
