#!/usr/bin/env python3
"""check_details.py SIMRUN PROGRAM LIBRARY OBJECTS TWO: the names and costs in `simrun run --details` are of what missed (programs/details.c, objects.c, two_at_one_address.c)."""
import json
import subprocess
import sys
import tempfile

SIMRUN, PROGRAM, LIBRARY, OBJECTS, TWO = sys.argv[1:]

with tempfile.NamedTemporaryFile(suffix=".json") as file:
    done = subprocess.run([SIMRUN, "run", "--config", "l3_8core.yaml", "--details", "-n", "5", "--json", file.name, "--", PROGRAM, LIBRARY],
                          capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    report = json.load(open(file.name))
objects = [line["object"] for line in report["hot_lines"][:3]]
assert "contended" in objects, objects   # not quiet, which its line begins with
assert any(name.startswith("heap block of 32 bytes allocated at main (details.c:") for name in objects), objects
functions = {i["function"]: i for i in report["hot_instructions"]}
assert "add_often" in functions, functions.keys()   # though it is unloaded
assert functions["add_often"]["source"].endswith("add_often.c:3") and functions["add_often"]["module"].endswith("libadd_often.so")
assert functions["add_often"]["frames"] == [{"function": "add_often", "source": functions["add_often"]["source"]}]
for name in "contended[", "add_often add_often.c:3":
    assert name in done.stderr, done.stderr
# Each object has its own misses and stalls, whatever was at its addresses before; all together are those of the machine.
with tempfile.NamedTemporaryFile(suffix=".json") as file:
    command = [SIMRUN, "run", "--config", "l3_1core", "--details", "-n", "1000000", "--json", file.name, "--", OBJECTS]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    report = json.load(open(file.name))
LINES = (1 << 20) // 64
MEMORY = report["configuration"]["memory"]["latency"]
assert MEMORY > 0
for name, blocks in {"variable": 0, "heap blocks allocated at first_block (": 1, "heap blocks allocated at twice (": 2,
                     "mappings made at mapped (": 1}.items():
    found = [o for o in report["hot_objects"] if o["object"].startswith(name)]
    assert len(found) == 1, (name, found)
    object, swept = found[0], max(blocks, 1) * LINES
    assert swept - 4 <= object["misses_by_level"]["L3"] <= object["misses_by_level"]["L1"] <= swept + 4, (name, object)
    assert object["blocks"] == blocks and object["bytes"] == max(blocks, 1) << 20, (name, object)
    # Its data is read only: each miss stalls for as long as memory takes. The allocator writes a line or two.
    assert abs(object["stall_cycles"] - swept * MEMORY) < 8 * MEMORY, (name, object)
thread_local = next(o for o in report["hot_objects"] if o["object"] == "thread-local of_thread")
assert thread_local["misses_by_level"]["L3"] >= LINES and abs(thread_local["stall_cycles"] - LINES * MEMORY) < 8 * MEMORY, thread_local   # the C library clears it first
sweep = next(f for f in report["hot_functions"] if f["function"] == "sweep")
assert report["hot_functions"][0] is sweep and abs(sweep["misses_by_level"]["L1"] - 6 * LINES) < 40, sweep
assert sweep["reads"] == 6 * (LINES + 1), sweep   # those of instructions that never missed, too: its return
stalls = sum(s["stall_cycles"] for c in report["cores"] for s in c["served_by"]) + sum(c["transfer_cycles"] + c["upgrade_cycles"] for c in report["cores"])
misses = sum(l["misses"] for l in report["levels"] if l["level"] == 1)
for table in "hot_functions", "hot_instructions", "hot_objects", "hot_lines":
    assert abs(sum(row["stall_cycles"] for row in report[table]) - stalls) < 1, (table, stalls)
    assert sum(row["misses_by_level"]["L1"] for row in report[table]) == misses, (table, misses)
# Lines with one address, of memory that processes share, have each their own name and misses.
with tempfile.NamedTemporaryFile(suffix=".json") as file:
    command = [SIMRUN, "run", "--config", "l3_1core", "--details", "-n", "1000000", "--json", file.name, "--", TWO]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    lines = [(line["offset"], line["writes"]) for line in json.load(open(file.name))["hot_lines"] if line["writes"] in (10, 30) and line["offset"] in (5, 50)]
assert sorted(lines) == [(5, 10), (50, 30)], lines
# The code of a line is that of its module, as among the objects.
assert any(line["object"] == "code of libc.so.6" for line in report["hot_lines"])
# Where nothing can be shared, that is said.
for options, why in {("l3_1core",): "machine l3_1core has no other", ("l3_8core", "--pin", "0"): "see --pin"}.items():
    text = subprocess.run([SIMRUN, "sharing", "-q", "-c", *options, "--", PROGRAM, LIBRARY], capture_output=True, text=True, timeout=100).stderr
    assert "all threads ran on one core" in text and why in text, text
assert "one core" not in subprocess.run([SIMRUN, "sharing", "-q", "-c", "l3_8core", "--", PROGRAM, LIBRARY], capture_output=True, text=True, timeout=100).stderr
print("passed")
