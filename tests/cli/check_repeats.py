"""Programs one after the other, and side by side: runs are equal to the last count, whatever else the host does.

The program that starts them has no handler for SIGCHLD, as shells have: when that runs is the host's. Nor are there pipes.

usage: check_repeats.py SIMRUN
"""

import json
import subprocess
import sys

SIMRUN = sys.argv[1]
SCRIPTS = {
    "one after the other": "for (1 .. 12) { run('/bin/true'); if (!fork) { exit 3 } wait; run('/bin/echo', $_) }",
    "side by side": "if (!fork) { exec '/bin/ls', '-R', '/etc' } run('/bin/true'); wait",
    "beside one that computes": "my $c = fork; if (!$c) { my $s = 0; $s += $_ for 1 .. 1000000; exit 0 } "
    "for (1 .. 40) { my $pid = fork; if (!$pid) { my $s = 0; $s += $_ for 1 .. 500; exit 0 } waitpid $pid, 0 } waitpid $c, 0",
    "many at once": "for my $k (1 .. 5) { my $pid = fork; if (!$pid) { my @a = (1 .. 5000 * $k); exit 0 } push @p, $pid } waitpid $_, 0 for @p",
}
# Not `system`, which has a pipe to its child.
START = "open STDOUT, '>', '/dev/null'; sub run { my $pid = fork; exec @_ unless $pid; waitpid $pid, 0 } "


def results(script):
    words = [SIMRUN, "run", "--quiet", "--config", "l3_4core.yaml", "--json", "-", "--", "/usr/bin/perl", "-e", START + script]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=True, env={"PERL_HASH_SEED": "0", "LC_ALL": "C"})
    report = json.loads(done.stdout)
    if report["totals"]["stalls"] != 0:
        print("stalls:", report["totals"]["stalls"])  # that explain another order (docs/order.md)
    threads = [(t["process"], t["start_clock"], t["end_clock"], t["core"], t["instructions"]) for t in report["threads"]]
    return threads, report["levels"], report["memory"], report["transfers"]


for name, script in SCRIPTS.items():
    subprocess.run(["/usr/bin/perl", "-e", START + script], check=True)  # no disk waits from here on
    first = results(script)
    for _ in range(2):
        again = results(script)
        assert again[0] == first[0], (name, first[0], again[0])
        assert again == first, (name, [(a, b) for a, b in zip(first, again) if a != b])
