#!/usr/bin/env python3
"""check_diagnosis.py SIMRUN PROGRAM CASE: what simrun shows of its engine to developers (docs/diagnosis.md)."""
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
POKEUSER, CONT, DETACH, SEIZE, INTERRUPT = 6, 7, 17, 0x4206, 0x4207
ORIG_RAX, RIP = 15 * 8, 16 * 8


def fail(what):
    sys.exit(f'FAILED: {what}')


def ptrace(request, pid, address=None, data=None):
    if LIBC.ptrace(request, pid, address, data) < 0:
        fail(f'ptrace {request}: {os.strerror(ctypes.get_errno())}')


def start(simrun, program, *options, mode='trace'):
    tool = subprocess.Popen([simrun, '-q', '--mode', mode, *options, '--', program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    if tool.stdout.readline() != 'ready\n':
        fail('the program does not start')
    for task in os.listdir(f'/proc/{tool.pid}/task'):
        for pid in open(f'/proc/{tool.pid}/task/{task}/children').read().split():
            if 'memfd:simrun' in open(f'/proc/{pid}/maps').read():
                return tool, int(pid)
    fail('no program')


def fault(simrun, program):
    """A thread of the engine's is sent to nowhere: a report with everything that a developer needs."""
    tool, pid = start(simrun, program)
    while not open(f'/proc/{pid}/syscall').read().startswith('0 0x0 '):   # until it reads its input: no lock of the engine's is its own
        time.sleep(0.01)
    ptrace(SEIZE, pid)
    ptrace(INTERRUPT, pid)
    os.waitpid(pid, 0x40000000)
    ptrace(POKEUSER, pid, ORIG_RAX, ctypes.c_void_p(-1))   # no system call to be made again
    ptrace(POKEUSER, pid, RIP, 0x10)
    ptrace(DETACH, pid)
    output, errors = tool.communicate(timeout=60)
    print(errors)
    if tool.returncode != 1:
        fail(f'status {tool.returncode}')
    for line in ('simrun: fault in the engine', r'what: signal 11, code 1, at 0x10 \(outside the code cache', r'version: \d', f'process {pid}, thread {pid}, mode trace',
                 'application pc: 0x[0-9a-f]{6}', 'superblock: 0x[0-9a-f]+ to 0x[0-9a-f]+, [0-9]+ instructions', 'system call [0-9]+, first argument',
                 rf'thread {pid} \(this one\): ', r'thread [0-9]+: ', 'simrun: error: the engine gave up in process'):
        if not re.search(line, errors):
            fail(f'no line "{line}"')


def log(simrun, program):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'log')
        tool, pid = start(simrun, program, '--debug-engine', path)
        tool.communicate('go\n', timeout=60)
        lines = open(path).read().splitlines()
    if tool.returncode != 3 or len(lines) < 100:
        fail(f'status {tool.returncode}, {len(lines)} lines')
    for wanted in (rf'{pid} {pid}: system call 1\(0x1, ', rf'{pid} {pid}: system call 1 = 0x6', rf'{pid} \d+: translated 0x[0-9a-f]+: \d+ instructions',
                   rf'{pid} \d+: signal \d+, code', rf'{pid} \d+: signal \d+: handler 0x'):
        if not any(re.match(wanted, line) for line in lines):
            fail(f'no line "{wanted}"')
    full = subprocess.run([simrun, '-q', '--mode', 'null', '--debug-engine', '/dev/full', '--', 'true'], capture_output=True, text=True, timeout=60)
    if full.returncode != 0 or full.stderr != 'simrun: warning: --debug-engine: cannot write /dev/full: No space left on device\n':
        fail(f'status {full.returncode}: {full.stderr}')
    refused = subprocess.run([simrun, '--mode', 'null', '--debug-engine', '/nonexistent/log', '--', 'true'], capture_output=True, text=True, timeout=60)
    if refused.returncode != 1 or 'cannot write /nonexistent/log' not in refused.stderr:
        fail(f'status {refused.returncode}: {refused.stderr}')


def names(simrun, program):
    """perf's map has the program's functions, and gdb names the pc of a thread in the code cache."""
    tool, pid = start(simrun, program, '--perf-map', mode='null')
    files = [f'/tmp/perf-{pid}.map', f'/tmp/simrun-{pid}.elf']
    end = time.monotonic() + 60
    while not os.path.exists(files[1]) or 'compute' not in open(files[0]).read():
        if time.monotonic() > end:
            fail('no names of the running program')
        time.sleep(0.1)
    seen = ''
    for _ in range(5):
        done = subprocess.run(['gdb', '--nx', '--batch', '-ex', f'add-symbol-file {files[1]}', '-ex', 'thread apply all -q bt 1', '-p', str(pid)],
                              capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
        seen = done.stdout
        if re.search(r'#0 .*simrun: .*attach_everything', seen):
            break
    tool.communicate('go\n', timeout=60)   # its status is its own: gdb's coming ends some system calls, natively too
    if not re.search(r'#0 .*simrun: .*attach_everything', seen):
        fail('gdb names nothing: ' + seen)
    for line in open(files[0]):
        if not re.fullmatch(r'[0-9a-f]+ [0-9a-f]+ simrun: .+\n', line):
            fail(f'perf cannot read {line!r}')
    for file in files:
        os.remove(file)


def unwritten_names(simrun, program):
    """What cannot be written is said once, and the run goes on."""
    child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    files = [f'/tmp/perf-{child.pid}.map', f'/tmp/simrun-{child.pid}.elf']
    for file in files:
        os.mkdir(file)
    try:
        done = subprocess.run([simrun, 'attach', '-q', '--mode', 'null', '--perf-map', '--for', '2500ms', str(child.pid)], capture_output=True, text=True,
                              timeout=60)
        if done.returncode != 0 or done.stderr != f'simrun: warning: --perf-map: cannot write {files[0]}: Is a directory\n':
            fail(f'status {done.returncode}: {done.stderr}')
        if left := [file for file in files if os.path.exists(file + '.new')]:
            fail(f'left behind: {left}')
    finally:
        child.kill()
        child.wait()
        for file in files:
            os.rmdir(file)


simrun, program, case = sys.argv[1:]
{'fault': fault, 'log': log, 'names': names, 'unwritten_names': unwritten_names}[case](simrun, program)
