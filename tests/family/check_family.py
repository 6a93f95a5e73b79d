#!/usr/bin/env python3
"""check_family.py SIMRUN PROGRAM CASE [FIRST-SEED COUNT]: trees of processes under simrun (README.md)."""
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

simrun, program, case = sys.argv[1:4]
first, count = (int(sys.argv[4]), int(sys.argv[5])) if len(sys.argv) > 5 else (1, 12)
PATIENCE = 60
OPTIONS = {'trace': ['--mode', 'trace'], 'sim': ['--config', 'l3_4core', '--check'], 'killed': ['--mode', 'trace'],
           'killed_early': ['--mode', 'trace', '-q'], 'killed_forks': ['--mode', 'trace', '-q'], 'reused_pids': ['--mode', 'trace', '-q'], 'busy': ['--config', 'l3_4core'], 'few_descriptors': ['--mode', 'trace', '--ring-size', '32KiB']}[case]


def processes(session, dead=False):
    """pid -> (state, mappings) of all processes of a session; with `dead` also those that nobody has waited for."""
    found = {}
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            fields = open(f'/proc/{name}/stat').read().rsplit(')', 1)[1].split()
            if int(fields[3]) == session and (dead or fields[0] not in 'ZX'):
                found[int(name)] = (fields[0], open(f'/proc/{name}/maps').read())
        except (OSError, IndexError):
            pass
    return found


# Session 0 is everybody's who has none: whose is not known.
def give_up(seed, session, what):
    print(f'FAILED: seed {seed}: {what}')
    if session == 0:
        sys.exit(1)
    for pid, (state, maps) in processes(session, dead=True).items():
        status = dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status").read().splitlines() if ":\t" in line)
        print(f'  {pid} of {status["PPid"]}, tracer {status["TracerPid"]}: {status["Name"]} {status["State"]}')
        stack = ''
        for task in os.listdir(f'/proc/{pid}/task'):
            stack += ' ' + (open(f'/proc/{pid}/task/{task}/syscall').read().split() or ['none'])[0] if state not in 'ZX' else ''
        print(f'  {pid} {state} engine: {"memfd:simrun" in maps}, in system calls{stack}: ' + open(f'/proc/{pid}/cmdline').read().replace('\0', ' '))
        os.kill(pid, signal.SIGKILL)
    sys.exit(1)


def start(seed):
    return subprocess.Popen([simrun, '-q', *OPTIONS, '--', program, str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def ends(seed):
    tool = start(seed)
    try:
        output, errors = tool.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        give_up(seed, tool.pid, 'does not end')
    if (tool.returncode, output) != (0, b'done\n'):
        give_up(seed, tool.pid, f'status {tool.returncode}, {output}, {errors}')


def killed(seed):
    """Whatever is left of the tree ends by itself, and is not in the engine for long."""
    tool = start(seed)
    time.sleep(random.Random(seed).uniform(0.01, 0.4))
    tool.kill()
    tool.wait()
    end = time.monotonic() + PATIENCE
    while left := processes(tool.pid):
        if time.monotonic() > end:
            give_up(seed, tool.pid, f'{len(left)} processes are left')
        time.sleep(0.02)
    tool.stdout.close()
    tool.stderr.close()


def busy(children):
    """What is kept of children that have ended goes while their parent computes."""
    tool = start(children)
    most, end = 0, time.monotonic() + PATIENCE
    while tool.poll() is None:
        if time.monotonic() > end:
            give_up(children, tool.pid, 'does not end')
        try:
            most = max(most, len(os.listdir(f'/proc/{tool.pid}/fd')))
        except OSError:
            pass
        time.sleep(0.002)
    output = tool.communicate()
    if (tool.returncode, *output) != (0, b'done\n', b'') or not 0 < most < children // 2:
        give_up(children, tool.pid, f'status {tool.returncode}, {output}, {most} descriptors')


def few_descriptors(limit, children, hard=None):
    """Those for which none is left are not followed, aloud, and run to their ends all the same. A soft limit is the program's affair."""
    def limited():
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard or limit))
    tool = subprocess.Popen([simrun, *OPTIONS, '--', program, str(children)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            start_new_session=True, preexec_fn=limited)
    try:
        output, errors = tool.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        give_up(limit, tool.pid, 'does not end')
    if (tool.returncode, output.splitlines()[:1]) != (0, [b'done']) or (b'is not followed: ' in errors) != (hard is None):
        give_up(limit, tool.pid, f'status {tool.returncode}, {output}, {errors}')


def killed_early():
    """Who has been killed is not followed, and nothing is to be said of that."""
    tool = subprocess.run([simrun, *OPTIONS, '--', program], capture_output=True, timeout=PATIENCE, check=False)
    if (tool.returncode, tool.stdout, tool.stderr) != (0, b'400\n', b''):
        give_up(0, 0, f'status {tool.returncode}, {tool.stdout}, {tool.stderr}')


def killed_forks():
    tool = subprocess.run([simrun, *OPTIONS, '--', program], capture_output=True, timeout=PATIENCE, check=False)
    if (tool.returncode, tool.stdout, tool.stderr) != (0, b'done\n', b''):
        give_up(0, 0, f'status {tool.returncode}, {tool.stdout}, {tool.stderr}')


def reused_pids():
    """Who has the number of one that ended long ago is followed like others."""
    with tempfile.NamedTemporaryFile() as results:
        tool = subprocess.run([simrun, *OPTIONS, '--json', results.name, '--', program], capture_output=True, timeout=PATIENCE, check=False)
        if tool.returncode == 77:
            sys.exit(77)
        native = json.load(open(results.name))['process']['native_children']
    if (tool.returncode, tool.stdout, tool.stderr, native) != (0, b'done\n', b'', 0):
        give_up(0, 0, f'status {tool.returncode}, {tool.stdout}, {tool.stderr}, {native} native')


if case == 'reused_pids':
    reused_pids()
    sys.exit()
if case == 'killed_forks':
    killed_forks()
    sys.exit()
if case == 'killed_early':
    killed_early()
    sys.exit()
if case == 'busy':
    busy(400)
    sys.exit()
if case == 'few_descriptors':
    for limit in range(21, 33):
        few_descriptors(limit, 40)
    few_descriptors(64, 40, 512)
    sys.exit()
for seed in range(first, first + count):
    (killed if case == 'killed' else ends)(seed)
print(f'{count} trees')
