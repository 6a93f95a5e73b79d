#!/usr/bin/env python3
"""check_attach.py SIMRUN PROGRAM CASE: attaches to a running program; it must end as if nobody had (README.md)."""
import contextlib
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

THREADS = 11
EXPECTED = 'bad 0, signals 1, own 1234\n'


def fail(what):
    sys.exit(f'FAILED: {what}')


def start(program):
    child = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if child.stdout.readline() != 'ready\n':
        fail('the program does not start')
    time.sleep(0.2)
    return child


def finish(child):
    output, errors = child.communicate('go\n', timeout=60)
    if (child.returncode, output, errors) != (3, EXPECTED, ''):
        fail(f'the program ended with status {child.returncode}, {output!r}, {errors!r}')


def attach(simrun, child, *options, may_warn=False):
    """JSON results."""
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, 'results.json')
        command = [simrun, 'attach', '-q', '--json', results, *options, str(child.pid)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        said = re.sub('simrun: warning: .*\n', '', done.stderr) if may_warn else done.stderr
        if done.returncode != 0 or said != '' or done.stdout != '':
            fail(f'simrun: status {done.returncode}: {done.stdout}{done.stderr}')
        with open(results) as file:
            results = json.load(file)
            if (results['exit_status'], results['signal']) != (None, None):
                fail(f'simrun says that it ended with {results["exit_status"]}, {results["signal"]}')
            return results


def mappings(child):
    """Without the names: the stack gets its name by a thread's stack pointer."""
    with open(f'/proc/{child.pid}/maps') as file:
        return {line.split()[0] for line in file}


def whole(simrun, child, *options):
    before = mappings(child)
    result = attach(simrun, child, '--for', '500ms', *options)
    if len(result['threads']) != THREADS:
        fail(f'{len(result["threads"])} threads, not {THREADS}')
    if left := mappings(child) - before:
        fail(f'left behind: {left}')
    return result


def counted(simrun, child, *options):
    result = whole(simrun, child, *options)
    if result['totals']['instructions'] < 100_000:
        fail(f'only {result["totals"]["instructions"]} instructions')
    busy = sum(t['instructions'] > 10_000 for t in result['threads'])
    if busy < 2:
        fail(f'{busy} threads computed')


def in_engine(pid):
    return any('memfd:simrun' in line for line in open(f'/proc/{pid}/maps'))


def is_traced(pid):
    for tid in os.listdir(f'/proc/{pid}/task'):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):   # a thread that has ended meanwhile
            if 'TracerPid:\t0\n' not in open(f'/proc/{pid}/task/{tid}/status').read():
                return True
    return False


def wait_for(what, condition, period=0.01):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            fail(what)
        time.sleep(period)


def killed(mode):
    """simrun goes: the program goes on natively, with nothing of the engine in it."""
    def case(simrun, child):
        before = mappings(child)
        tool = subprocess.Popen([simrun, 'attach', '-q', '--mode', mode, str(child.pid)])
        wait_for('the engine does not come', lambda: in_engine(child.pid) and not is_traced(child.pid))
        time.sleep(0.5)
        tool.kill()
        tool.wait()
        wait_for('the engine stays', lambda: not in_engine(child.pid))
        if left := mappings(child) - before:
            fail(f'left behind: {left}')
    return case


def killed_parent(simrun, program):
    """The same with a program that simrun started."""
    tool = subprocess.Popen([simrun, '-q', '--mode', 'trace', '--', program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    if tool.stdout.readline() != 'ready\n':
        fail('the program does not start')
    with open(f'/proc/{tool.pid}/task/{tool.pid}/children') as file:
        pids = [int(pid) for pid in file.read().split() if in_engine(pid)]
    if len(pids) != 1:
        fail(f'{len(pids)} programs')
    time.sleep(0.3)
    tool.kill()
    tool.wait()
    wait_for('the engine stays', lambda: not in_engine(pids[0]))
    output, errors = tool.communicate('go\n', timeout=60)
    if output != EXPECTED or errors != f'simrun: killed; process {pids[0]} goes on natively\n':
        fail(f'the program ended with {output!r}, {errors!r}')


def no_memory(simrun):
    """simrun ends by an error of its own: the program goes on natively, too, and that is said."""
    words = 'print "ready\n"; $| = 1; vec($lines, 64 * $_, 8) = 1 for 1 .. 1 << 24; print "done\n"; <STDIN>'
    child = subprocess.Popen(['perl', '-e', '$| = 1; ' + words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        tool = subprocess.Popen([simrun, 'attach', '-q', '-c', 'l3_1core', '--details', str(child.pid)], stderr=subprocess.PIPE, text=True)
        wait_for('the engine does not come', lambda: in_engine(child.pid) and not is_traced(child.pid))
        time.sleep(0.3)
        with open(f'/proc/{tool.pid}/statm') as file:
            limit = int(file.read().split()[0]) * 4096 + (1 << 23)
        resource.prlimit(tool.pid, resource.RLIMIT_AS, (limit, limit))
        _, errors = tool.communicate(timeout=60)
        if tool.returncode != 1 or 'not enough memory' not in errors or f'process {child.pid} goes on natively' not in errors:
            fail(f'simrun ended with {tool.returncode}, {errors!r}')
        wait_for('the engine stays', lambda: not in_engine(child.pid))
    finally:
        child.kill()


def forking(simrun):
    """Children end while their parent is left."""
    child = subprocess.Popen(['sh', '-c', 'while :; do (:); done'])
    try:
        time.sleep(0.2)
        for _ in range(20):
            attach(simrun, child, '--for', '200ms', '--mode', 'trace')
        if child.poll() is not None:
            fail(f'the program ended with status {child.returncode}')
    finally:
        child.kill()
        child.wait()


def limits(simrun, program):
    """Address space and data may grow no further afterwards than before."""
    def read(pid):
        return [line for line in open(f'/proc/{pid}/limits') if line.startswith(('Max address space', 'Max data size'))]

    soft = 4_000_000_000
    for which in resource.RLIMIT_AS, resource.RLIMIT_DATA:
        resource.setrlimit(which, (soft, resource.getrlimit(which)[1]))
    child = start(program)
    for which in resource.RLIMIT_AS, resource.RLIMIT_DATA:
        resource.setrlimit(which, (resource.getrlimit(which)[1],) * 2)
    try:
        before = read(child.pid)
        if sum(str(soft) in line for line in before) != 2:
            fail(f'limits are {before}')
        for mode in 'null', 'trace', 'null':
            attach(simrun, child, '--mode', mode, '--for', '200ms')
            if (after := read(child.pid)) != before:
                fail(f'limits were {before}, are {after}')
        finish(child)
    finally:
        child.kill()


def interrupted(simrun, child):
    tool = subprocess.Popen([simrun, 'attach', '-q', '--mode', 'trace', str(child.pid)])
    time.sleep(1)
    tool.send_signal(signal.SIGINT)
    if tool.wait(timeout=60) != 0:
        fail(f'simrun ended with status {tool.returncode}')


def briefly(simrun, child):
    """Threads leave that have not even begun the calls again in which they were interrupted."""
    for _ in range(10):
        attach(simrun, child, '--for', '1ms', '--mode', 'trace')
        attach(simrun, child, '--instructions', '1', '--mode', 'trace', may_warn=True)


def twice(simrun, child):
    counted(simrun, child, '--mode', 'trace')
    counted(simrun, child, '--config', 'l3_8core')


def by_instructions(simrun, child):
    """Also where two threads compute, and say nothing of it in their streams."""
    for mode in 'trace', 'count':
        result = attach(simrun, child, '--instructions', '2M', '--mode', mode)
        if result['totals']['instructions'] < 2_000_000:
            fail(f'only {result["totals"]["instructions"]} instructions')


def refused(simrun, child):
    """Each with its own message, and the process is as it was."""
    def message(pid, *words):
        done = subprocess.run([simrun, 'attach', '--mode', 'trace', pid], capture_output=True, text=True, timeout=60)
        if done.returncode not in (1, 2) or not all(word in done.stderr for word in words):
            fail(f'attach {pid}: status {done.returncode}: {done.stderr}')

    message('4194300', 'no such process')
    message('nonsense', 'PID')
    uncounted = subprocess.run([simrun, 'attach', '--mode', 'null', '--instructions', '1M', str(child.pid)], capture_output=True, text=True, timeout=60)
    if uncounted.returncode != 2 or 'nobody counts' not in uncounted.stderr:
        fail(f'--instructions in null mode: status {uncounted.returncode}: {uncounted.stderr}')
    stopped = subprocess.Popen(['sleep', '100'])
    stopped.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    message(str(stopped.pid), 'stopped', 'SIGCONT')
    stopped.kill()
    stopped.wait()
    dispatching = subprocess.Popen(
        [sys.executable, '-c', """
import ctypes, time
allowed = ctypes.c_char(0)
print(ctypes.CDLL(None).prctl(59, 1, 0, 0, ctypes.byref(allowed)), flush=True)
time.sleep(100)"""], stdout=subprocess.PIPE, text=True)
    if dispatching.stdout.readline() == '0\n' and tuple(map(int, re.findall(r'\d+', os.uname().release)[:2])) >= (6, 4):
        message(str(dispatching.pid), 'dispatched to itself')
        if dispatching.poll() is not None:
            fail(f'one that was refused has ended with {dispatching.returncode}')
    dispatching.kill()
    dispatching.wait()
    if subprocess.run(['unshare', '-fp', 'true'], capture_output=True).returncode == 0:
        outside = subprocess.Popen(['unshare', '-fp', '--kill-child', 'sleep', '100'])
        time.sleep(0.5)
        inside = open(f'/proc/{outside.pid}/task/{outside.pid}/children').read().split()
        message(inside[0], 'another PID namespace')
        outside.kill()
        outside.wait()
    tool = subprocess.Popen([simrun, 'attach', '-q', '--mode', 'trace', '--for', '3s', str(child.pid)])
    time.sleep(1)
    message(str(child.pid), 'under simrun already')
    if tool.wait(timeout=60) != 0:
        fail(f'simrun ended with status {tool.returncode}')


def stopped_while_it_attaches(simrun, child):
    """A simrun that holds the child's threads, and is held itself."""
    while True:
        tool = subprocess.Popen([simrun, 'attach', '-q', '--mode', 'null', str(child.pid)])
        wait_for('simrun does not come', lambda: is_traced(child.pid) or in_engine(child.pid), 0)
        tool.send_signal(signal.SIGSTOP)
        wait_for('simrun does not stop', lambda: any(line.startswith('State:\tT') for line in open(f'/proc/{tool.pid}/status')))
        if is_traced(child.pid):
            return tool
        tool.send_signal(signal.SIGCONT)   # too late
        tool.send_signal(signal.SIGINT)
        tool.wait(timeout=60)


def signalled(simrun, program):
    """A signal comes to a call that the attaching has interrupted: it ends as it would have, or goes on."""
    ended = '-1, EINTR, 1 handled\n'
    for call, number, expected in [('pause', signal.SIGUSR1, ended), ('pause', signal.SIGUSR2, ended), ('poll', signal.SIGUSR2, ended),
                                   ('recv', signal.SIGUSR2, ended), ('read', signal.SIGUSR1, ended), ('read', signal.SIGUSR2, '1, no error, 1 handled\n')]:
        child = start([program, call])
        tool = stopped_while_it_attaches(simrun, child)
        try:
            child.send_signal(number)
            tool.send_signal(signal.SIGCONT)
            wait_for('the engine does not come', lambda: child.poll() is not None or not is_traced(child.pid))
            if expected != ended:
                time.sleep(0.5)
                child.stdin.write('x')
                child.stdin.flush()
            output, errors = child.communicate(timeout=20)
            if (output, errors) != (expected, ''):
                fail(f'{call}, {number.name}: {output!r}, {errors!r}')
        finally:
            child.kill()
            tool.send_signal(signal.SIGCONT)
            tool.terminate()
            tool.wait()


def not_all(simrun, mode, child):
    """Of two that are to be attached to, one cannot be: nothing happens to the other, or it is left at once."""
    before = mappings(child)

    def refuses(pids, *words):
        done = subprocess.run([simrun, 'attach', '--mode', mode, *map(str, pids)], capture_output=True, text=True, timeout=60)
        if done.returncode not in (1, 2) or not all(word in done.stderr for word in words):
            fail(f'attach {pids}: status {done.returncode}: {done.stderr}')
        if 'could not be detached' in done.stderr:
            fail(f'attach {pids}: {done.stderr}')
        if left := mappings(child) - before:
            fail(f'attach {pids}: left behind: {left}')

    refuses([child.pid, 4194300], 'no such process')
    refuses([child.pid, child.pid], 'given twice')
    thread = next(tid for tid in os.listdir(f'/proc/{child.pid}/task') if int(tid) != child.pid)
    refuses([child.pid, thread], f'process {thread}: that is a thread of process {child.pid}')
    ended = subprocess.Popen(['true'])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    refuses([child.pid, ended.pid], 'it has ended')
    ended.wait()
    # Found out by who tries: the kernel does not stop a parent of vfork. Its child waits for somebody to write.
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, 'pipe')
        os.mkfifo(pipe)
        spawn = f'import os; os.posix_spawn("/bin/true", ["true"], {{}}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "{pipe}", os.O_RDONLY, 0)])'
        parent = subprocess.Popen([sys.executable, '-c', spawn])
        try:
            wait_for('no child', lambda: open(f'/proc/{parent.pid}/stat').read().rsplit(')', 1)[1].startswith(' D'))
            refuses([child.pid, parent.pid], 'does not stop')
        finally:
            os.close(os.open(pipe, os.O_WRONLY))
            parent.wait()


def making_threads(simrun, program):
    """Some threads are met between their creation and their first system call, others are being created (rseq)."""
    for _ in range(12):
        child = start(program)
        try:
            attach(simrun, child, '--mode', 'null', '--for', '50ms')
            output, errors = child.communicate('go\n', timeout=60)
            if (child.returncode, output, errors) != (0, '0 failed\n', ''):
                fail(f'the program ended with status {child.returncode}, {output!r}, {errors!r}')
        finally:
            child.kill()


def computing(simrun, program):
    """Threads that are there are all read, though those that came first always have more to be read."""
    for options in [('--mode', 'trace'), ('-c', 'l3_8core'), ('-c', 'l3_8core', '--details')]:
        child = start(program)
        time.sleep(0.2)
        try:
            results = attach(simrun, child, *options, '--instructions', '40M')
            counts = sorted(t['instructions'] for t in results['threads'])[1:]
            if len(counts) != 4 or counts[0] < counts[-1] / 4:
                fail(f'{options}: the threads executed {counts}')
            if '--details' in options and os.path.realpath(program) not in {i['module'] for i in results['hot_instructions']}:
                fail(f'instructions are named {results["hot_instructions"]}')
            child.communicate('x', timeout=60)
            if child.returncode != 0:
                fail(f'the program ended with status {child.returncode}')
        finally:
            child.kill()


def killed_amid(simrun, program):
    """simrun goes while it attaches, at any time: the program goes on natively, with nothing of the engine in it."""
    random.seed(1)
    child = start(program)
    try:
        before = mappings(child)
        for k in range(40):
            tool = subprocess.Popen([simrun, 'attach', '-q', '--mode', ('null', 'trace')[k % 2], str(child.pid)], stderr=subprocess.PIPE)
            wait_for('simrun does not come', lambda: is_traced(child.pid) or in_engine(child.pid), 0)
            time.sleep(random.random() * 0.1)
            tool.kill()
            tool.communicate(timeout=60)   # until all that may write to standard error is gone
            if left := mappings(child) - before:
                fail(f'run {k}: left behind: {left}')
            if is_traced(child.pid):
                fail(f'run {k}: the program is traced')
        child.communicate('x', timeout=60)
        if child.returncode != 0:
            fail(f'the program ended with status {child.returncode}')
    finally:
        child.kill()


def in_handler(simrun, program):
    """The handler that it is in returns, while simrun is there and when it has been there."""
    for stays in True, False:
        child = start(program)
        try:
            tool = subprocess.Popen([simrun, 'attach', '-q', '--mode', 'null', *([] if stays else ['--for', '300ms']), str(child.pid)])
            wait_for('the engine does not come', lambda: in_engine(child.pid) and not is_traced(child.pid))
            if not stays:
                tool.wait(timeout=60)
            child.communicate('x', timeout=60)
            if child.returncode != 0 or tool.wait(timeout=60) != 0:
                fail(f'stays {stays}: the program ended with status {child.returncode}, simrun with {tool.returncode}')
        finally:
            child.kill()
            tool.kill()


def crowded(simrun, program):
    """Many more threads than processors: each is simulated, or simrun says that it was not."""
    threads = 51
    child = start([program, str(threads - 1)])
    try:
        for mode in 'count', 'trace':
            results = attach(simrun, child, '--for', '1s', '--mode', mode, may_warn=True)
            simulated = sum(t['instructions'] > 0 for t in results['threads'])
            said = [re.fullmatch(fr'process {child.pid}: (\d+) of the {threads} threads that were there .*', w) for w in results['warnings']]
            if not all(said) or simulated + sum(int(w[1]) for w in said) < threads - 1:
                fail(f'{mode}: {simulated} threads, {results["warnings"]}')
        child.communicate('x', timeout=60)
        if child.returncode != 0:
            fail(f'the program ended with status {child.returncode}')
    finally:
        child.kill()


CASES = {'trace': lambda s, c: counted(s, c, '--mode', 'trace'), 'count': lambda s, c: counted(s, c, '--mode', 'count'),
         'null': lambda s, c: attach(s, c, '--mode', 'null', '--for', '500ms'), 'twice': twice,
         'killed': killed('trace'), 'killed_count': killed('count'), 'killed_null': killed('null'),
         'not_all_null': lambda s, c: not_all(s, 'null', c), 'not_all_trace': lambda s, c: not_all(s, 'trace', c),
         'interrupted': interrupted, 'briefly': briefly, 'instructions': by_instructions, 'refused': refused}


def main():
    simrun, program, case = sys.argv[1:]
    if case == 'killed_parent':
        return killed_parent(simrun, program)
    if case == 'forking':
        return forking(simrun)
    if case == 'no_memory':
        return no_memory(simrun)
    if case == 'signalled':
        return signalled(simrun, program)
    if case == 'computing':
        return computing(simrun, program)
    if case == 'killed_amid':
        return killed_amid(simrun, program)
    if case == 'in_handler':
        return in_handler(simrun, program)
    if case == 'crowded':
        return crowded(simrun, program)
    if case == 'limits':
        return limits(simrun, program)
    if case == 'making_threads':
        return making_threads(simrun, program)
    child = start(program)
    try:
        CASES[case](simrun, child)
        finish(child)
    finally:
        child.kill()


if __name__ == '__main__':
    main()
