#!/usr/bin/env python3
"""check_barrier_pool.py SIMRUN BARRIER_POOL: threads that a barrier lets go together run together, though the host may have one of them run when another is through."""
import json
import subprocess
import sys
import tempfile

SIMRUN, POOL = sys.argv[1:]
STEPS = 5


def coherence_misses():
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([SIMRUN, "sharing", "-q", "--config", "l3_8core.yaml", "--json", file.name, "--", POOL, str(STEPS)], check=True, timeout=100)
        return json.load(open(file.name))["coherence_misses"]


# A turn is 1000 instructions, a loop has some 100,000: each step hands the line over about twice for each turn of both. One that they do not share loses a fifth.
counts = [coherence_misses() for _ in range(5)]
assert max(counts) > 500 * STEPS / 5, counts
assert sorted(counts)[1] > 0.9 * max(counts), counts   # a full host may spoil one (1 of 60 with three of these at once)
print("passed", counts)
