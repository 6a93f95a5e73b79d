#!/usr/bin/env python3
"""What one more unit of a program costs: counters of a run of size 2 minus those of size 1, so that what a run has once
cancels. The programs (costs/) are in assembly without a C library, so the figures are the same on every machine. Kept
are the figures of today; more than a twentieth above fails, as does a counter that must stay 0. Whoever makes them
better lowers them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

SLACK = 1.05
EXACT = ("links", "indirect_misses")   # too few are as bad


def calls_off_look_ups():
    """Whether most superblocks do without a limit check here (docs/decisions/0039-look-ups-are-called-off.md)."""
    with open("/proc/cpuinfo", encoding="utf-8") as text:
        facts = dict(map(str.strip, line.split(":", 1)) for line in text.read().split("\n\n")[0].splitlines() if ":" in line)
    maker = facts.get("vendor_id")
    fast = maker == "GenuineIntel" or (maker == "AuthenticAMD" and int(facts["cpu family"]) >= 0x19)
    return fast and "bmi2" in facts["flags"].split()


CALLED_OFF = calls_off_look_ups()
# program -> mode -> figure -> today's
KEPT = {
    # Nothing goes through the dispatcher once all has been executed; the stream's entries are one for each chunk.
    "cost_loop": {
        "null": {"dispatches": 0, "superblocks": 0},
        "count": {"dispatches": 0, "superblocks": 0},
        "trace": {"dispatches": 1, "stream_bytes": 4.757},
    },
    # One word for the path and one for the address; not unrolled (decision 35).
    "cost_short_loop": {
        "null": {"dispatches": 0, "superblocks": 0},
        "trace": {"dispatches": 259, "stream_bytes": 3.99},
    },
    "cost_indirect": {
        "null": {"dispatches": 0, "indirect_misses": 0},
        "count": {"dispatches": 0, "indirect_misses": 0},
        "trace": {"dispatches": 6, "indirect_misses": 0, "stream_bytes": 5.163},
    },
    # 100 times more that the translations of a page are dropped, two superblocks. Links each time: what is left of either leads
    # to its successor, one leads back, and the two superblocks that stay and jump there are linked again.
    "cost_changed_code": {
        mode: {"superblocks": 200, "indirect_misses": 100, "indirect_targets": 0, "links": 500}
        for mode in ("null", "count", "trace")
    },
    "cost_two_views": {mode: {"indirect_misses": 200, "indirect_targets": 0} for mode in ("null", "count", "trace")},
    # 100 functions more: 150 indirect targets (functions, and the places that their own calls return to). Each target
    # misses once, each superblock is entered from the dispatcher once.
    "cost_footprint": {
        "null": {"superblocks": 500, "indirect_misses": 150, "entries_a_superblock": 1.0,
                 "code_bytes": 11.89 if CALLED_OFF else 14.33},
        "count": {"superblocks": 500, "indirect_misses": 150, "entries_a_superblock": 1.0,
                  "code_bytes": 22.11 if CALLED_OFF else 25.84},
        "trace": {"superblocks": 500, "indirect_misses": 150, "entries_a_superblock": 1.0, "code_bytes": 45.78,
                  "stream_bytes": 5.6},
    },
}


def counters(simrun, options, mode, program, size):
    with tempfile.TemporaryDirectory(prefix="simrun_costs_") as directory:
        result = os.path.join(directory, "result.json")
        command = [simrun, "-q", *options, "--mode", mode, "--json", result, "--", program, *["more"] * size]
        subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL)
        with open(result, encoding="utf-8") as text:
            document = json.load(text)
    engine, totals = document["engine"], document["totals"]
    return {
        "superblocks": engine["superblocks"],
        "translated": engine["translated_instructions"],
        "code": engine["code_bytes"],
        "dispatches": sum(engine["dispatches"].values()),
        "indirect_misses": engine["dispatches"]["indirect"],
        "indirect_targets": engine["indirect_targets"],
        "links": engine["links"],
        "instructions": totals["instructions"],
        "words": totals["stream_words"],
    }


def figures(simrun, options, mode, program):
    one, two = (counters(simrun, options, mode, program, size) for size in (1, 2))
    more = {name: two[name] - one[name] for name in one}
    found = {name: more[name] for name in ("superblocks", "dispatches", "indirect_misses", "indirect_targets", "links")}
    if more["superblocks"]:
        found["entries_a_superblock"] = more["dispatches"] / more["superblocks"]
        found["code_bytes"] = more["code"] / more["translated"]
    if mode == "trace":
        found["stream_bytes"] = 8 * more["words"] / more["instructions"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--simrun", required=True)
    parser.add_argument("--option", action="append", default=[], help="of simrun, to see this check fail: --no-link")
    parser.add_argument("folder", help="where the programs are")
    arguments = parser.parse_args()
    failed = 0
    for program, modes in KEPT.items():
        for mode, kept in modes.items():
            found = figures(arguments.simrun, arguments.option, mode, os.path.join(arguments.folder, program))
            for name, today in kept.items():
                # What is above 0 today and is 0 now was not measured.
                good = 0 < found[name] <= today * SLACK if today else found[name] == 0
                good = good and (name not in EXACT or found[name] == today)
                failed += not good
                print(f"{program} {mode} {name}: {found[name]:.3f}, kept {today:.3f}{'' if good else ' FAILED'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
