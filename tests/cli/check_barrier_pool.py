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


# A turn is 100 instructions, and begins with the line at the other's core. The loop has 5 a round or, as another compiler has it, a few more. A step in which they do not
# meet loses a fifth.
LEAST = 2 * STEPS * 20_000 * 5 / 100
counts = [coherence_misses() for _ in range(5)]
assert 0.98 * LEAST < max(counts) < 1.7 * LEAST, counts
assert sorted(counts)[1] > 0.9 * max(counts), counts   # a full host may spoil one (1 of 60 with three of these at once)
print("passed", counts)
