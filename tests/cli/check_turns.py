#!/usr/bin/env python3
"""check_turns.py SIMRUN TURNS: threads and processes in strict turns hand a line over once a turn, whatever they wait by; and
those that begin together by a barrier in shared memory contend for it.

A turn is 5,000 instructions, of which each quantum would hand the line over were the two simulated side by side."""
import json
import subprocess
import sys
import tempfile

simrun, program = sys.argv[1:3]
TURNS = 2 * 100 - 1
KINDS = ['pipe', 'socket', 'tcp', 'eventfd', 'poll', 'epoll', 'semaphores', 'messages', 'queue']


def handed_over(by, who):
    with tempfile.NamedTemporaryFile(mode='r') as result:
        subprocess.run([simrun, 'run', '-q', '-c', 'l3_4core', '--quantum', '100', '--json', result.name, '--', program, by, who], check=True, timeout=100)
        results = json.load(open(result.name))
    assert results['complete'], results['error']
    return results['totals']['stalls'], sum(t['lines'] for t in results['transfers'])


def check(by, who, least, most):
    for _ in range(10):   # those in which the host kept a thread from running say nothing
        stalls, lines = handed_over(by, who)
        if stalls == 0:
            break
    print(f'{by}, {who}: {lines} lines from core to core, {least} to {most} expected')
    if not least <= lines <= most:
        sys.exit(1)


# The other lines, of the libraries, and of the first and the last turn.
for kind in KINDS + ['signal']:
    check(kind, 'threads', TURNS - 1, TURNS + 100)
for kind in KINDS:
    check(kind, 'processes', TURNS - 1, TURNS + 100)
# 10,000 rounds of five instructions each, twice, in quanta of 100.
check('barrier', 'processes', 950, 1050)
