"""Programs one after the other, and side by side: runs are equal to the last count, whatever else the host does.

The program that starts them is one without a handler for SIGCHLD (shells have one): when that runs is the host's.

usage: check_repeats.py SIMRUN
"""

import json
import subprocess
import sys

SIMRUN = sys.argv[1]
SCRIPTS = {
    "one after the other": "for (1 .. 12) { system '/bin/true'; if (!fork) { exit 3 } wait; system '/bin/echo', $_ }",
    "side by side": "if (!fork) { exec '/bin/ls', '-R', '/etc' } system '/bin/true'; wait",
}


def results(script):
    words = [SIMRUN, "run", "--quiet", "--config", "l3_4core.yaml", "--json", "-", "--", "/usr/bin/perl", "-e", "open STDOUT, '>', '/dev/null';" + script]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=True, env={"PERL_HASH_SEED": "0", "LC_ALL": "C"})
    report = json.loads(done.stdout)
    threads = [(t["start_clock"], t["end_clock"], t["core"], t["instructions"]) for t in report["threads"]]
    return threads, report["levels"], report["memory"], report["transfers"]


for name, script in SCRIPTS.items():
    first = results(script)
    for _ in range(2):
        again = results(script)
        assert again[0] == first[0], (name, first[0], again[0])
        assert again == first, (name, [(a, b) for a, b in zip(first, again) if a != b])
