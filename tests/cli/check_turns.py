#!/usr/bin/env python3
"""check_turns.py SIMRUN TURNS: threads and processes in strict turns hand a line over once a turn, whatever they wait by; and
those that begin together by a barrier in shared memory contend for it. Threads with tokens, of which there are enough, or a
lock that is held for a moment, do not wait for each other; those of a pipeline go on side by side, and pairs beside others.

A turn is 5,000 instructions, of which each quantum would hand the line over were the two simulated side by side."""
import json
import subprocess
import sys
import tempfile

simrun, program = sys.argv[1:3]
TURNS = 2 * 100 - 1
KINDS = ['pipe', 'socket', 'tcp', 'eventfd', 'poll', 'epoll', 'semaphores', 'messages', 'queue', 'vectors', 'several', 'types', 'duplicate']


def run(by, who, machine, quantum):
    for _ in range(10):   # those in which the host kept a thread from running say nothing
        with tempfile.NamedTemporaryFile(mode='r') as result:
            subprocess.run([simrun, 'run', '-q', '-c', machine, '--quantum', str(quantum), '--json', result.name, '--', program, by, who], check=True, timeout=100)
            results = json.load(open(result.name))
        assert results['complete'], results['error']
        if results['totals']['stalls'] == 0:
            break
    return results


def check(by, who, least, most):
    lines = sum(t['lines'] for t in run(by, who, 'l3_4core', 100)['transfers'])
    print(f'{by}, {who}: {lines} lines from core to core, {least} to {most} expected')
    if not least <= lines <= most:
        sys.exit(1)


# The other lines, of the libraries, and of the first and the last turn.
for kind in KINDS + ['signal', 'process', 'loop']:
    check(kind, 'threads', TURNS - 1, TURNS + 100)
for kind in KINDS:
    check(kind, 'processes', TURNS - 1, TURNS + 100)
check('circle', 'threads', TURNS - 1, TURNS + 1000)   # side by side 9,900
# A lock that mostly has to be waited for: 79 times, and start and end, and a thousand for each turn that began without a wait; side by side 68,000 and more.
check('contended', 'threads', 1, 10_000)
# 10,000 rounds of five instructions each, twice, in quanta of 100.
check('barrier', 'processes', 950, 1050)


def ends(kind):
    """Of each thread, the first first: when it ends, and how many instructions it has, in millions."""
    found = [(t['end_clock'] / 1e6, t['instructions'] / 1e6) for t in run(kind, 'threads', 'l3_8core', 1000)['threads']]
    print(f'{kind}: (end, instructions) in millions', *(f'({end:.2f}, {own:.2f})' for end, own in found))
    return found


# Eight threads, each with a core: in single file the last would end at eight times its instructions. A pair, at twice.
for kind, most in ('tokens', 3), ('lock', 3), ('pipeline', 2), ('pairs', 4):
    threads = ends(kind)
    if max(end for end, own in threads) > most * max(own for end, own in threads):
        sys.exit(1)
# The first and the last are the pair, whose wake-ups take no time of the one that computes. (The first ends behind that one, which it joins.)
first, _, last = ends('beside')
if last[0] > 1.5 * (first[1] + last[1]):
    sys.exit(1)
