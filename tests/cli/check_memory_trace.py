#!/usr/bin/env python3
"""check_memory_trace.py SIMRUN PING_PONG SHARE_MEMORY: what `--memory-trace` writes.

- On a machine of one level it is, line by line, what a cache in a few lines of Python says of the references that `convert --to csv`
  writes, and lies at most a superblock before the instruction whose it is.
- Of other machines (prefetchers, an exclusive level, physical addresses; threads, processes that share memory) there are as many lines of
  each kind as the machine counted, live and from a trace; from a trace with a warm-up, those behind it.
- Each format says the same in its own words.
- What does not go together is an error; a run that cannot write its file has its results all the same, and leaves no file."""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

simrun, ping_pong, share_memory = sys.argv[1:4]
folder = tempfile.TemporaryDirectory()
work = pathlib.Path(folder.name)
SUPERBLOCK = 64  # instructions, at most

ONE_LEVEL = 'cores: 1\nlevels:\n  - {name: L1, size: 4KiB, ways: 2}\n'
FIRST = '  - {name: L1, instruction: {size: 2KiB, ways: 2}, data: {size: 2KiB, ways: 2}}\n'
MACHINES = {
    'inclusive': 'cores: 4\nlevels:\n' + FIRST + '  - {name: L2, shared_by: chip, size: 32KiB, ways: 4}\n',
    'exclusive': 'cores: 4\nlevels:\n' + FIRST + '  - {name: L2, shared_by: chip, size: 16KiB, ways: 4, inclusion: exclusive}\n',
    'prefetching': 'cores: 4\nlevels:\n' + FIRST + '  - {name: L2, shared_by: chip, size: 32KiB, ways: 4, prefetch: [{kind: next-line}]}\n',
    'translating': 'cores: 4\naddresses: first-touch\nlevels:\n' + FIRST + '  - {name: L2, shared_by: chip, size: 32KiB, ways: 4}\n',
    'several': 'cores: 4\ncoherence: mesif\nlevels:\n' + FIRST + '  - {name: L2, shared_by: 2, size: 16KiB, ways: 4}\n',
}
PROGRAMS = {'one': ['/bin/ls', '/'], 'threads': [ping_pong, '3', '2000'], 'processes': [share_memory, 'file', '2000']}


def run(*words, status=0):
    result = subprocess.run([simrun, *map(str, words)], capture_output=True, text=True, timeout=250)
    assert result.returncode == status, (words, result.returncode, result.stderr)
    return result.stderr


def machine(name, text):
    path = work / f'{name}.yaml'
    path.write_text(text)
    return path


def rows(path):
    lines = path.read_text().splitlines()
    assert lines[0] == 'number,thread,pc,kind,address,bytes'
    for line in lines[1:]:
        number, thread, pc, kind, address, size = line.split(',')
        yield int(number), int(thread), int(pc, 0), kind, int(address, 0), int(size)


class Cache:
    """64-byte lines, LRU, write-back. What it asks of memory for a reference."""

    def __init__(self, size, ways):
        self.sets = [collections.OrderedDict() for _ in range(size // 64 // ways)]
        self.ways = ways

    def access(self, line, write):
        lines = self.sets[line % len(self.sets)]
        asked = []
        if line in lines:
            lines.move_to_end(line)
        else:
            asked.append(('load', line))
            if len(lines) == self.ways:
                victim, modified = lines.popitem(last=False)
                if modified:
                    asked.append(('store', victim))
            lines[line] = False
        lines[line] |= write
        return asked


def expected_of(references):
    cache, fetched = Cache(4096, 2), None
    for number, _, pc, kind, address, size in references:
        for line in range(address // 64, (address + size - 1) // 64 + 1):
            if kind == 'fetch':
                if line == fetched:
                    continue
                fetched = line
            for what, where in cache.access(line, kind in ('store', 'modify', 'store-nt')):
                yield number, pc, what, where * 64


def check_against_python():
    config, trace = machine('one_level', ONE_LEVEL), work / 'one.trace'
    run('record', '-q', '-o', trace, '--', *PROGRAMS['one'])
    run('convert', '-q', trace, '--to', 'csv', '-o', work / 'references.csv')
    run('sim', '-q', trace, '--config', config, '--memory-trace', work / 'memory.csv')
    got, references = list(rows(work / 'memory.csv')), list(rows(work / 'references.csv'))
    assert not any(kind in ('prefetch', 'flush') for _, _, _, kind, _, _ in references)
    expected = list(expected_of(references))
    assert len(got) == len(expected) > 1000, (len(got), len(expected))
    assert any(kind == 'store' for _, _, kind, _ in expected)
    exact = 0
    for (number, thread, pc, kind, address, size), (at, by, what, where) in zip(got, expected):
        assert (thread, pc, kind, address, size) == (0, by, what, where, 64), (number, pc, kind, address, at, by, what, where)
        assert number <= at < number + SUPERBLOCK, (number, at)
        exact += number == at
    assert exact > 0
    print(f'one level: {len(got)} lines as expected')


def counts_of(path):
    kinds = collections.Counter(kind for _, _, _, kind, _, _ in rows(path))
    return kinds['load'] + kinds['prefetch'], kinds['store'], kinds['prefetch']


def check_counts(name, program):
    config, csv, result, trace = machine(name, MACHINES[name]), work / 'm.csv', work / 'r.json', work / 't.trace'
    run('--config', config, '-q', '--memory-trace', csv, '--json', result, '--', *program)
    live = json.loads(result.read_text())
    assert counts_of(csv)[:2] == (live['memory']['reads'], live['memory']['writes']), (name, program, counts_of(csv), live['memory'])
    run('record', '-q', '--config', config, '-o', trace, '--', *program)
    run('sim', trace, '-q', '--config', config, '--memory-trace', csv, '--json', result)
    watched = json.loads(result.read_text())
    run('sim', trace, '-q', '--config', config, '--json', result)
    plain = json.loads(result.read_text())
    assert watched['levels'] == plain['levels'] and watched['memory'] == plain['memory'] and watched['totals'] == plain['totals'], name
    reads, writes, prefetches = counts_of(csv)
    assert (reads, writes) == (plain['memory']['reads'], plain['memory']['writes']), (name, program)
    assert (prefetches > 0) == (name == 'prefetching'), (name, prefetches)
    numbers = [number for number, *_ in rows(csv)]
    assert numbers == sorted(numbers) and numbers[-1] < plain['totals']['instructions']
    threads = {thread for _, thread, *_ in rows(csv)}
    assert threads == set(range(len(plain['threads']))), (threads, len(plain['threads']))
    if name == 'translating':
        frames = {address // 4096 for _, _, _, _, address, _ in rows(csv)}
        assert frames <= set(range(max(frames) + 1)) and max(frames) < 4096, max(frames)
    half = plain['totals']['instructions'] // 2
    run('sim', trace, '-q', '--config', config, '--warm-up', half, '--memory-trace', csv, '--json', result)
    behind = json.loads(result.read_text())['memory']
    assert counts_of(csv)[:2] == (behind['reads'], behind['writes']) and behind['reads'] < plain['memory']['reads'], (name, behind)
    print(f'{name}, {program[0]}: {reads} lines read, {writes} written')


def check_formats():
    config, trace = machine('one_core', 'cores: 1\nlevels:\n' + FIRST + '  - {name: L2, size: 16KiB, ways: 4, prefetch: [{kind: next-line}]}\n'), work / 'one.trace'

    def write(form, ending=''):
        path = work / f'{form}{ending}'
        run('sim', '-q', trace, '--config', config, '--memory-trace', path, '--memory-format', form)
        return path

    csv = write('csv')
    told = [(number, 'W' if kind == 'store' else 'R', address) for number, _, _, kind, address, _ in rows(csv)]
    pairs = [(what, address) for _, what, address in told]
    zipped = subprocess.run(['gzip', '-dc', write('csv', '.gz')], capture_output=True, check=True).stdout
    assert zipped == csv.read_bytes()

    lines = [line.split() for line in write('dramsim3').read_text().splitlines()]
    assert [(int(cycle), 'RW'[op == 'WRITE'], int(address, 16)) for address, op, cycle in lines] == told
    assert {op for _, op, _ in lines} == {'READ', 'WRITE'}
    lines = [line.split() for line in write('ramulator-loadstore').read_text().splitlines()]
    assert [({'LD': 'R', 'ST': 'W'}[op], int(address, 0)) for op, address in lines] == pairs
    lines = [line.split() for line in write('din').read_text().splitlines()]
    assert [('RW'[int(label)], int(address, 16)) for label, address in lines] == pairs

    reads, writes, instructions = [], [], 0
    for line in write('ramulator-o3').read_text().splitlines():
        bubbles, load, *store = map(int, line.split())
        instructions += bubbles
        reads.append(load)
        writes += store
    assert reads == [address for what, address in pairs if what == 'R']
    assert writes == [address for what, address in pairs if what == 'W'][:len(writes)] and len(writes) > len(reads) // 20
    assert instructions == [number for number, what, _ in told if what == 'R'][-1], instructions
    assert write('gem5').read_bytes().startswith(b'gem5')
    print(f'formats: {len(told)} lines')


def check_errors():
    config, trace, out = work / 'inclusive.yaml', work / 'one.trace', work / 'none'
    for words, said in [(['--sweep', 'L2.size=16KiB,32KiB'], 'one machine in one thread'), (['--details'], 'one machine in one thread'),
                        (['--sim-threads', '2'], 'one machine in one thread'), (['--miss-curve', 'L2'], 'one machine in one thread'),
                        (['--memory-format', 'ramulator-o3'], 'the machine has 4'), (['--memory-format', 'champsim'], '--memory-format')]:
        for command in [['sim', trace, '-q'], ['-q']]:
            program = ['--', '/bin/true'] if command == ['-q'] else []
            assert said in run(*command, '--config', config, '--memory-trace', out, *words, *program, status=2), words
            assert not out.exists()
    assert 'goes with --memory-trace' in run('sim', trace, '--config', config, '--memory-format', 'din', status=2)
    assert 'need the cache model' in run('--mode', 'count', '--memory-trace', out, '--', '/bin/true', status=2)
    assert run('sim', trace, '--config', config, '--memory-trace', out, '--json', out, status=2)
    missing = run('-q', '--config', config, '--memory-trace', work / 'no' / 'folder', '--', '/bin/true', status=1)
    assert 'folder' in missing, missing
    result = work / 'full.json'
    said = run('sim', trace, '-q', '--config', config, '--memory-trace', '/dev/full', '--json', result, status=1)
    assert '--memory-trace: cannot write /dev/full' in said, said
    assert json.loads(result.read_text())['memory']['reads'] > 0
    text = run('sim', trace, '--config', config, '--memory-trace', out)
    assert f'{out}: ' in text and 'lines read' in text, text


check_against_python()
for name in MACHINES:
    for program in PROGRAMS.values():
        check_counts(name, program)
check_formats()
check_errors()
