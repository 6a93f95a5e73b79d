#!/usr/bin/env python3
"""check_shared_memory.py SIMRUN PROGRAM: memory that two processes share is one memory in the model, and a copy is not.

Each turn of a process (a quantum of 300 instructions, 100 additions) begins with a transfer of the counter's line from the core of the other:
2 x rounds x 3 / 300 in all. When the host lets one begin before the other they share fewer turns, so nine tenths of that are asked for in
the best of twelve runs, and next to none where each has its own copy."""
import json
import subprocess
import sys
import tempfile

simrun, program = sys.argv[1:3]
ROUNDS = 100000
MACHINE = '''cores: 2
levels:
  - {name: L1, instruction: {size: 32KiB, ways: 8}, data: {size: 32KiB, ways: 8}}
  - {name: L2, shared_by: chip, size: 4MiB, ways: 16}
'''


def transfers(kind, *options):
    with tempfile.NamedTemporaryFile(suffix='.yaml', mode='w') as config, tempfile.NamedTemporaryFile(mode='r') as result:
        config.write(MACHINE)
        config.flush()
        done = subprocess.run([simrun, '--config', config.name, '--quiet', '--check', '--quantum', '300', *options, '--json', result.name, '--', program,
                               kind, str(ROUNDS)], timeout=100, stdout=subprocess.PIPE, check=True)
        results = json.load(open(result.name))
    assert results['complete'], results['error']
    assert done.stdout == (b'1\n' if kind == 'private' else b'2\n'), done.stdout
    return sum(t['lines'] for t in results['transfers'])


expected = 2 * ROUNDS * 3 / 300
for kind in ('anonymous', 'file', 'segment'):
    seen = []
    while len(seen) < 12 and max(seen, default=0) < 0.9 * expected:
        seen.append(transfers(kind))
    print(f'{kind}: {seen} transfers, {expected:.0f} expected')
    if not 0.9 * expected <= max(seen) <= 1.1 * expected:
        sys.exit(1)
for options in ((), ('--aslr',)):
    seen = transfers('private', *options)
    print(f'private: {seen} transfers')
    if seen > 0.05 * expected:
        sys.exit(1)
