#!/usr/bin/env python3
"""check_sharing.py SIMRUN SOURCES PROGRAMS NAME: runs one program under `simrun sharing` and checks what it says (README.md)."""
import json
import os
import re
import subprocess
import sys
import tempfile

ROUNDS = 200000

# verdict; what the object's name must contain; members (empty: none); marks of the source lines that miss, and of those that may;
# threads, or what they can be where several lines cost the same; least misses.
CASES = {
    'global_array': dict(verdict='false', objects=['counters'], kind='variable', members={f'[{i}].value' for i in range(4)},
                         marks=['MARK'], threads={1, 2, 3, 4}, least=1000, fix=['counters', '64']),
    'member_array': dict(verdict='false', objects=['world'], kind='variable', marks=['MARK'], threads=[{1, 2, 3, 4}, {1, 2, 3}, {2, 3, 4}],
                         least=1000, fix=["'world.in'", 'on their type']),
    'byte_buffer': dict(verdict='false', objects=['buffer'], kind='variable', marks=['MARK'], threads={1, 2, 3, 4}, least=1000,
                        fix=['0 to 7 (thread 1), 8 to 15 (thread 2), 16 to 23 (thread 3), 24 to 31 (thread 4)']),
    'heap_block': dict(verdict='false', objects=['heap block of 64 bytes', 'make_counters'], kind='heap', offsets={0, 8, 16, 24},
                       marks=['MARK'], threads={1, 2, 3, 4}, least=1000, allocated='ALLOCATED', fix=['64']),
    'struct_members': dict(verdict='false', objects=['shop::statistics'], kind='variable', members={'.sold', '.bought'},
                           marks=['SOLD', 'BOUGHT'], threads={1, 2}, least=1000, fix=['.sold', '.bought']),
    'linear_regression': dict(verdict='false', objects=['heap block of 256 bytes'], kind='heap', threads=[{1, 2}, {2, 3}, {3, 4}], least=1000,
                              allocated='ALLOCATED', fix=['64']),
    'lock_beside_data': dict(verdict='mixed', objects=['shared'], kind='variable', members={'.lock', '.hot'},
                             marks=['DATA', 'LOCK', 'UNLOCK'], may=['WAIT'], threads={1, 2, 3}, least=500, fix=['shared.lock', 'shared.hot']),
    'true_sharing': dict(verdict='true', objects=['total'], kind='variable', members={''}, marks=['MARK'], threads={1, 2, 3, 4},
                         least=500, fix=['total']),
    'freed_blocks': dict(verdict='false', objects=['heap block of 8 bytes', 'make_first'], kind='heap', marks=['ADD'], threads={1, 2},
                         least=500, also='make_second', fix=['make_first', 'make_second']),
    'first_thread_local': dict(verdict='false', objects=['own of thread 0'], kind='thread', members={f'[{i}]' for i in range(4)},
                               marks=['MARK'], threads={1, 2, 3, 4}, least=1000, fix=['own[0] of thread 0', '64']),
    'after_others': dict(verdict='false', objects=['own of thread 4'], kind='thread', members={f'[{i}]' for i in range(4)},
                         marks=['MARK'], threads={5, 6, 7, 8}, least=1000, fix=['own[0] of thread 4', '64']),
    'same_address': dict(verdict='false', objects=['heap block of 100000 bytes', 'big_queue'], kind='heap', offsets={0, 8, 16, 24},
                         marks=['MARK'], threads={1, 2, 3, 4}, least=1000, allocated='ALLOCATED', fix=['64']),
    'shared_segment': dict(verdict='false', objects=['mapping of 8192 bytes', 'main'], kind='mapping', offsets={0, 8, 16, 24},
                           marks=['MARK'], threads={1, 2, 3, 4}, least=1000, fix=['64']),
    'library_block': dict(verdict='false', objects=['heap block', 'main'], kind='heap', marks=['MARK'], threads=[{1, 2, 3, 4}, {1, 2, 3}, {2, 3, 4}],
                          least=1000, allocated='ALLOCATED', fix=['64']),
}
# Of whom no line may be left, and the verdict that a line of it must not have.
PADDED = {'global_array': 'counters', 'member_array': 'world', 'heap_block': 'make_counters', 'struct_members': 'shop::statistics',
          'linear_regression': 'at main (linear_regression', 'lock_beside_data': 'shared', 'freed_blocks': 'make_'}


def fail(what, table):
    print(table)
    sys.exit(f'FAILED: {what}')


def run(simrun, program, folder):
    with tempfile.TemporaryDirectory() as scratch:
        file = os.path.join(scratch, 'sharing.json')
        done = subprocess.run([simrun, 'sharing', '-c', 'l3_8core', '--json', file, '--top', '300', '--', program,
                               os.path.join(folder, 'libadd_often.so')], capture_output=True, text=True, timeout=110)
        if done.returncode != 0:
            fail(f'exit status {done.returncode}', done.stderr)
        with open(file) as f:
            return json.load(f), done.stderr


def line_of_mark(sources, mark):
    """{'file.c:12'} for the comments that hold the mark."""
    found = set()
    for name in os.listdir(sources):
        for number, text in enumerate(open(os.path.join(sources, name)), 1):
            if re.search(r'(/\*|//).*\b' + mark + r'\b', text) and number > 2:
                found.add((name, number))
    return found


def costly(line):
    """The rows that make the line move."""
    total = sum(u['false_sharing'] + u['true_sharing'] + u['upgrades'] for u in line['uses'])
    return [u for u in line['uses'] if 100 * (u['false_sharing'] + u['true_sharing'] + u['upgrades']) >= total]


def check_laws(report, table):
    for line in report['lines']:
        for key in ('false_sharing', 'true_sharing', 'upgrades'):
            if sum(u[key] for u in line['uses']) > line[key]:
                fail(f'rows of line {line["address"]:#x} have more {key} than the line', table)
        if any(u['line_offset'] + u['bytes'] > report['line_bytes'] for u in line['uses']):
            fail('a row reaches beyond its line', table)
    misses = [l['coherence_misses'] for l in report['lines']]
    if misses != sorted(misses, reverse=True):
        fail('lines are not in the order of their misses', table)


def check(case, name, report, table, sources):
    worst = report['lines'][0]
    rows = [u for u in costly(worst) if u['data']['kind'] == case['kind']]
    if worst['verdict'] != case['verdict']:
        fail(f'verdict {worst["verdict"]}, not {case["verdict"]}', table)
    if worst['coherence_misses'] < case['least']:
        fail(f'{worst["coherence_misses"]} misses, fewer than {case["least"]}', table)
    threads = {u['thread'] for u in rows}
    if threads not in (case['threads'] if isinstance(case['threads'], list) else [case['threads']]):
        fail(f'threads {threads}, not {case["threads"]}', table)
    named = [u for u in rows if all(o in u['data']['object'] for o in case['objects'])]
    if not named or ('also' not in case and len(named) != len(rows)):
        fail(f'objects {({u["data"]["object"] for u in rows})}', table)
    if 'also' in case and not any(case['also'] in u['data']['object'] for u in rows):
        fail(f'{case["also"]} is not named', table)
    if 'members' in case and {u['data']['member'] for u in rows} != case['members']:
        fail(f'members {({u["data"]["member"] for u in rows})}, not {case["members"]}', table)
    if 'offsets' in case and {u['data']['offset'] for u in rows} != case['offsets']:
        fail(f'offsets {({u["data"]["offset"] for u in rows})}, not {case["offsets"]}', table)
    lines = {(os.path.basename(u['source'][0]['file']), u['source'][0]['line']) for u in rows if u['source']}
    marked, allowed = [{place for mark in marks for place in line_of_mark(sources, mark)
                        if place[0].startswith((name + '.', 'add_often' if mark == 'ADD' else name + '.'))}
                       for marks in (case.get('marks', []), case.get('may', []))]
    if marked and not marked <= lines <= marked | allowed:
        fail(f'source lines {lines}, not {marked}', table)
    if 'allocated' in case:
        place = next(p for p in line_of_mark(sources, case['allocated']) if p[0].startswith(name + '.'))
        if f'{place[0]}:{place[1]}' not in rows[0]['data']['allocated_by'][0]:
            fail(f'allocated by {rows[0]["data"]["allocated_by"]}, not {place}', table)
    for word in case['fix']:
        if word not in worst['fix'] or worst['fix'] not in table:
            fail(f'the fix does not say {word}', table)
    if name == 'global_array':  # exact: every round reads and writes once
        for u in rows:
            if (u['reads'], u['writes'], u['bytes']) != (ROUNDS, ROUNDS, 8):
                fail(f'{u["reads"]} reads and {u["writes"]} writes of {u["bytes"]} bytes', table)


def check_that_blocks_stay(report, table):
    rows = [u for line in report['lines'] for u in line['uses'] if u['false_sharing'] + u['true_sharing'] + u['upgrades'] > 50]
    if sum(u['data']['kind'] == 'heap' for u in rows) < 20:
        fail('few rows are of heap blocks', table)
    if any(u['data']['kind'] == 'break' for u in rows):
        fail('rows of blocks that are there stand outside of blocks', table)


def main():
    simrun, sources, folder, name = sys.argv[1:]
    report, table = run(simrun, os.path.join(folder, name), folder)
    check_laws(report, table)
    if name == 'thread_cache':
        return check_that_blocks_stay(report, table)
    base = name.removesuffix('_padded').removesuffix('_lld')
    if not name.endswith('_padded'):
        check(CASES[base], base, report, table, sources)
        return
    if base == 'true_sharing':  # nothing to pad: it is what it was
        check(CASES[base], base, report, table, sources)
        return
    for line in report['lines']:
        about = any(PADDED[base] in u['data']['object'] for u in costly(line))
        if about and line['false_sharing'] > 20:
            fail(f'{line["false_sharing"]} misses by false sharing in spite of the padding', table)


main()
