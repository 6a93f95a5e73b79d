#!/usr/bin/env python3
"""check_ping_pong.py SIMRUN PROGRAM [QUANTUM RING]: a contended line goes from core to core as the order between threads says.

Threads add to one counter. Each turn of a thread (a quantum) begins with a transfer of the line from the core that had the turn before, and the
rest of the turn hits: threads x rounds x 3 instructions / quantum transfers, however many host cores there are. Beyond that, threads do
not start at once, and make a few turns alone: tolerance 5 %; also where they wait for each other by sched_yield. Runs in which a thread was set aside because the host did not let it run for
50 ms (`stalls`) are not looked at; three of twenty must be without."""
import json
import subprocess
import sys
import tempfile

simrun, program = sys.argv[1:3]
quantum = int(sys.argv[3]) if len(sys.argv) > 3 else 300
ring = sys.argv[4] if len(sys.argv) > 4 else '1MiB'
machine = '''cores: {}
levels:
  - {{name: L1, instruction: {{size: 32KiB, ways: 8}}, data: {{size: 32KiB, ways: 8}}}}
  - {{name: L2, shared_by: chip, size: 4MiB, ways: 16}}
'''
for cores, rounds, *together in [(8, 200000), (16, 100000), (64, 40000), (4, 100000, 'yield')]:
    seen = []
    for _ in range(20):
        if len(seen) == 3:
            break
        with tempfile.NamedTemporaryFile(suffix='.yaml', mode='w') as config, tempfile.NamedTemporaryFile(mode='r') as result:
            config.write(machine.format(cores))
            config.flush()
            subprocess.run([simrun, '--config', config.name, '--quiet', '--quantum', str(quantum), '--ring-size', ring, '--json', result.name, '--',
                            program, str(cores), str(rounds), *together], check=True, timeout=100, stdout=subprocess.DEVNULL)
            results = json.load(open(result.name))
        assert results['complete'], results['error']
        if results['totals']['stalls'] == 0:
            seen.append(sum(t['lines'] for t in results['transfers']))
    expected = cores * rounds * 3 / quantum
    print(f'{cores} cores{" together" if together else ""}: {seen} transfers, {expected:.0f} expected')
    if len(seen) < 3 or any(abs(n - expected) > 0.05 * expected for n in seen):
        sys.exit(1)
