#!/usr/bin/env python3
"""compare_cachegrind.py REPLAY: the model counts what Valgrind's cachegrind counts on the same references.

Lackey prints the references, cachegrind simulates them, of the same program at the same addresses. References and misses of the first
level must be equal. In the last level cachegrind looks up both lines of a reference that crosses lines when one of them missed in the first
level; the model looks up the one that missed. So the last level's misses may differ by as many as there are such references."""
import re
import subprocess
import sys
import tempfile

replay = sys.argv[1]
machines = [('4096,2,64', '4096,4,64', '65536,8,64'), ('16384,4,64', '8192,1,64', '262144,16,64'),
            ('32768,8,64', '32768,8,64', '1048576,16,64')]
program = ['/bin/echo', 'x']
clean = ['env', '-i', 'setarch', '-R', 'valgrind']


def run(words, **more):
    return subprocess.run(clean + words + program, check=True, capture_output=True, text=True, timeout=100, **more)


with tempfile.NamedTemporaryFile(mode='r') as trace:
    run(['--tool=lackey', '--trace-mem=yes', f'--log-file={trace.name}'])
    text = trace.read()
for shapes in machines:
    with tempfile.NamedTemporaryFile(mode='r') as log:
        options = [f'--{name}={shape}' for name, shape in zip(['I1', 'D1', 'LL'], shapes)]
        run(['--tool=cachegrind', '--cache-sim=yes', '--cachegrind-out-file=/dev/null', f'--log-file={log.name}'] + options)
        report = log.read()
    cachegrind = {re.sub(r'\s+', ' ', name): int(number.replace(',', ''))
                  for name, number in re.findall(r'==\d+== (\w+\s+(?:refs|misses)):\s+([\d,]+)', report)}
    out = subprocess.run([replay, *shapes], input=text, check=True, capture_output=True, text=True, timeout=100).stdout
    ours = {name: int(number) for name, number in re.findall(r'(.+) (\d+)\n', out)}
    print(shapes, cachegrind, ours)
    for name in ['I refs', 'D refs', 'I1 misses', 'D1 misses']:
        if ours[name] != cachegrind[name]:
            sys.exit(f'{name}: {ours[name]}, but cachegrind counts {cachegrind[name]}')
    for name in ['LLi misses', 'LLd misses']:
        if abs(ours[name] - cachegrind[name]) > ours['crossing misses']:
            sys.exit(f'{name}: {ours[name]}, cachegrind {cachegrind[name]}, crossing misses {ours["crossing misses"]}')
