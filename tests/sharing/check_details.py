#!/usr/bin/env python3
"""check_details.py SIMRUN PROGRAM LIBRARY: the names in `simrun run --details` are of what missed (programs/details.c)."""
import json
import subprocess
import sys
import tempfile

SIMRUN, PROGRAM, LIBRARY = sys.argv[1:]

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
# Where nothing can be shared, that is said.
for options, why in {("l3_1core",): "machine l3_1core has no other", ("l3_8core", "--pin", "0"): "see --pin"}.items():
    text = subprocess.run([SIMRUN, "sharing", "-q", "-c", *options, "--", PROGRAM, LIBRARY], capture_output=True, text=True, timeout=100).stderr
    assert "all threads ran on one core" in text and why in text, text
assert "one core" not in subprocess.run([SIMRUN, "sharing", "-q", "-c", "l3_8core", "--", PROGRAM, LIBRARY], capture_output=True, text=True, timeout=100).stderr
print("passed")
