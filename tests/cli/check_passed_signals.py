#!/usr/bin/env python3
"""check_passed_signals.py SIMRUN: signals that reach simrun's process mean what they would mean natively.

Each program runs natively and under simrun, in a session of its own: a signal to its process group comes to it once, whoever sends it; one to
simrun alone is passed on, whichever, with its value; one that it sends to its parent comes to who started simrun; an alarm set before the exec comes, and is the program's, as what is pending;
who waits for it sees it stop, and lets it go on; a terminal that hangs up ends the leader of its session."""
import ctypes
import os
import pty
import signal
import subprocess
import sys
import time

simrun = sys.argv[1]
SIGNALS = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH]
WAYS = {'natively': [], 'null': [simrun, '-q', '--mode', 'null', '--'], 'trace': [simrun, '-q', '--mode', 'trace', '--']}
PYTHON = '/usr/bin/python3'
LIBC = ctypes.CDLL(None)
COUNTING = '''
import os, signal, sys, time
seen = []
for s in map(int, sys.argv[1:]):
    signal.signal(s, lambda s, f: seen.append(s))
def pause():
    end = time.time() + 0.1
    while time.time() < end:
        time.sleep(0.01)
'''
TO_GROUP = COUNTING + '''
for s in map(int, sys.argv[1:]):
    os.kill(0, s)
    pause()
    if os.fork() == 0:
        signal.signal(s, signal.SIG_IGN)
        os.kill(0, s)
        os._exit(0)
    os.wait()
    pause()
print(sorted(seen))
'''
TGKILL = 234
BY_TGKILL = f'import ctypes, os; ctypes.CDLL(None).syscall({TGKILL}, os.getppid(), os.getppid(), {int(signal.SIGUSR1)}); print("on")'
FROM_OUTSIDE = COUNTING + '''
print('ready', flush=True)
sys.stdin.readline()
pause()
print(sorted(seen))
'''
OTHERS = [signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGURG, signal.SIGPWR, signal.SIGABRT, signal.SIGCONT,
          signal.SIGRTMIN, signal.SIGRTMIN + 3, signal.SIGRTMAX]
STOPS = """
import os, signal
signal.signal(signal.SIGCONT, lambda s, f: None)
print('before', flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
print('after', flush=True)
os.kill(os.getpid(), signal.SIGTSTP)
print('end', flush=True)
"""
GOES_ON = """
import os, signal, time
print(os.getpid(), flush=True)
for _ in range(3):
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.2)
print('end', flush=True)
os._exit(3)
"""
CHILD_LETS_GO_ON = """
import os, signal, time
for _ in range(3):
    child = os.fork()
    if child == 0:
        time.sleep(0.2)
        os.kill(os.getppid(), signal.SIGCONT)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGSTOP)
    os.waitpid(child, 0)
print('end', flush=True)
os._exit(3)
"""
# Natively the second signal would end it.
ONCE = '''
import os, signal, time
told = []
def handler(s, f):
    signal.signal(s, signal.SIG_DFL)
    told.append(s)
signal.signal(signal.SIGTERM, handler)
os.kill(0, signal.SIGTERM)
end = time.time() + 0.1
while time.time() < end:
    time.sleep(0.01)
print(told)
'''
HANGS_UP = '''
import os, signal, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.write(1, b'READY')
    time.sleep(20)
    os._exit(0)
os.waitpid(child, 0)
'''
# Counts, blocked, what comes to it until its input ends: by sigtimedwait, or by a signalfd.
TAKES = """
import ctypes, os, select, signal, sys, time
kinds = {signal.SIGTERM, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, kinds)
libc = ctypes.CDLL(None)
mask = ctypes.create_string_buffer(128)
libc.sigemptyset(mask)
for s in kinds:
    libc.sigaddset(mask, int(s))
descriptor = libc.signalfd(-1, mask, os.O_NONBLOCK)
print('ready', flush=True)
seen, end = [], time.time() + 1.2
while time.time() < end:
    if sys.argv[1] == 'wait':
        info = signal.sigtimedwait(kinds, 0.05)
        seen += [info.si_signo] if info else []
    elif select.select([descriptor], [], [], 0.05)[0]:
        seen.append(os.read(descriptor, 128)[0])
print(seen)
"""
# Counts those of two that each send one to the group at once: real-time signals, which count each, taken at once and after having been pending for a while.
BY_TWO = """
import os, signal, time
kind = signal.SIGRTMIN + 5
signal.pthread_sigmask(signal.SIG_BLOCK, {kind})
seen = []
for delay in 0, 0, 0, 0, 0, 0.04, 0, 0.08, 0.04:
    senders = []
    for _ in range(2):
        senders.append(os.fork())
        if senders[-1] == 0:
            os.kill(0, kind)
            os._exit(0)
    time.sleep(delay)
    for _ in senders:
        seen.append(signal.sigtimedwait({kind}, 30).si_pid in senders)
    while info := signal.sigtimedwait({kind}, 0.3):   # more than these
        seen.append(info.si_pid in senders)
    for sender in senders:
        os.waitpid(sender, 0)
print(seen)
"""
# Each of these counts, though the program is long in taking them.
QUEUED = """
import signal, sys
kind = signal.SIGRTMIN + 5
signal.pthread_sigmask(signal.SIG_BLOCK, {kind})
print('ready', flush=True)
sys.stdin.readline()
taken = 0
while signal.sigtimedwait({kind}, 0):
    taken += 1
print(taken)
"""
# What an exec leaves: a timer of real time and one of processor time, signals that are blocked and pending, the policy of scheduling.
INHERITS = """
import os, select, signal, sys
print('timers', 5 < signal.getitimer(signal.ITIMER_REAL)[0] <= 30, signal.getitimer(signal.ITIMER_PROF)[0] > 50, signal.alarm(0) > 5)
print('pending', sorted(map(int, signal.sigpending())), 'policy', hex(os.sched_getscheduler(0)))
taken = [signal.sigtimedwait({s}, 0) for s in (signal.SIGUSR1, signal.SIGRTMIN)]
print('taken', [(info.si_signo, info.si_code, info.si_pid == int(sys.argv[1])) for info in taken], flush=True)
signal.signal(signal.SIGTERM, lambda s, f: print('term'))
sys.stdin.readline()
print('pending', sorted(map(int, signal.sigpending())))
signal.pthread_sigmask(signal.SIG_SETMASK, [])
"""
INHERITS_FROM = """
import ctypes, os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1, signal.SIGRTMIN})
os.kill(os.getpid(), signal.SIGUSR1)
os.kill(os.getpid(), signal.SIGRTMIN)
signal.alarm(30)
signal.setitimer(signal.ITIMER_PROF, 100)
os.sched_setscheduler(0, os.SCHED_BATCH | os.SCHED_RESET_ON_FORK, os.sched_param(0))
os.execv(sys.argv[1], sys.argv[1:] + [str(os.getpid())])
"""
# Of a subreaper: the child of its child becomes its own.
REAPS = """
import ctypes, os, sys
if len(sys.argv) > 1:
    assert ctypes.CDLL(None).prctl(36, 1) == 0
    os.execv(sys.argv[1], sys.argv[1:])
child = os.fork()
if child == 0:
    if os.fork() == 0:
        os._exit(7)
    os._exit(3)
print(sorted(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(2)))
"""


def start(way, program, *arguments):
    return subprocess.Popen(WAYS[way] + [PYTHON, '-c', program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            start_new_session=True)


def check(what, way, got, expected):
    assert got == expected, (what, way, got, expected)


def numbers():
    return [int(s) for s in SIGNALS]


def check_way(way):
    twice = sorted(numbers() * 2)
    program = start(way, TO_GROUP, *numbers())
    check('to the group', way, (program.communicate(timeout=100)[0], program.returncode), (f'{twice}\n', 0))

    program = start(way, BY_TWO)
    check('by two', way, (program.communicate(timeout=100)[0], program.returncode), (f'{[True] * 18}\n', 0))

    program = start(way, QUEUED)
    check('queued', way, program.stdout.readline(), 'ready\n')
    for _ in range(40):
        assert LIBC.sigqueue(program.pid, signal.SIGRTMIN + 5, None) == 0
    time.sleep(2)
    check('queued', way, (program.communicate('\n', timeout=100)[0], program.returncode), ('40\n', 0))

    for send in os.kill, os.killpg:
        program = start(way, FROM_OUTSIDE, *numbers())
        check(send.__name__, way, program.stdout.readline(), 'ready\n')
        for s in numbers():
            send(program.pid, s)
            time.sleep(0.1)
        check(send.__name__, way, (program.communicate('\n', timeout=100)[0], program.returncode), (f'{sorted(numbers())}\n', 0))

    program = start(way, FROM_OUTSIDE, *map(int, OTHERS))
    check('others', way, program.stdout.readline(), 'ready\n')
    for s in OTHERS:
        os.kill(program.pid, s)
        time.sleep(0.05)
    check('others', way, (program.communicate('\n', timeout=100)[0], program.returncode), (f'{sorted(map(int, OTHERS))}\n', 0))

    program = subprocess.Popen(['/usr/bin/perl', '-e', 'alarm 1; exec @ARGV', *WAYS[way], '/bin/sleep', '30'], start_new_session=True)
    check('alarm', way, program.wait(timeout=20), -signal.SIGALRM)

    for takes in 'wait', 'descriptor':
        program = start(way, TAKES, takes)
        check(takes, way, program.stdout.readline(), 'ready\n')
        for s in signal.SIGTERM, signal.SIGUSR1:
            os.killpg(program.pid, s)
            time.sleep(0.3)
        check(takes, way, program.communicate(timeout=100)[0], f'[{int(signal.SIGTERM)}, {int(signal.SIGUSR1)}]\n')

    program = subprocess.Popen([PYTHON, '-c', INHERITS_FROM, *(WAYS[way] or ['/usr/bin/env']), PYTHON, '-c', INHERITS], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    user, real_time = int(signal.SIGUSR1), int(signal.SIGRTMIN)
    check('inherits', way, [program.stdout.readline() for _ in range(3)],
          ['timers True True True\n', f'pending {[user, real_time]} policy {hex(os.SCHED_BATCH | os.SCHED_RESET_ON_FORK)}\n',
           f'taken {[(user, 0, True), (real_time, 0, True)]}\n'])
    os.kill(program.pid, signal.SIGTERM)
    time.sleep(0.3)
    check('inherits', way, (program.communicate('\n', timeout=100)[0], program.returncode), (f'pending {[int(signal.SIGTERM)]}\nterm\n', 0))

    program = subprocess.run([PYTHON, '-c', REAPS, *(WAYS[way] or ['/usr/bin/env']), PYTHON, '-c', REAPS], stdout=subprocess.PIPE, text=True, timeout=100)
    check('reaps', way, program.stdout, '[3, 7]\n')

    program = start(way, STOPS)
    for expected in signal.SIGSTOP, signal.SIGTSTP:
        status = os.waitpid(program.pid, os.WUNTRACED)[1]
        # Of a session without a terminal, whose group is orphaned, SIGTSTP stops nobody.
        if expected == signal.SIGSTOP:
            check('stop', way, os.WIFSTOPPED(status) and os.WSTOPSIG(status), expected)
            os.kill(program.pid, signal.SIGCONT)
        else:
            check('end', way, (os.waitstatus_to_exitcode(status), program.stdout.read()), (0, 'before\nafter\nend\n'))
    program.returncode = 0

    # Somebody who knows its number lets it go on: who waits for it sees that, too, and its end.
    program = start(way, GOES_ON)
    number = int(program.stdout.readline())
    seen = []
    while not seen or not os.WIFEXITED(seen[-1]):
        seen.append(os.waitpid(program.pid, os.WUNTRACED | os.WCONTINUED)[1])
        if os.WIFSTOPPED(seen[-1]):
            time.sleep(0.2)
            os.kill(number, signal.SIGCONT)
    words = ['stopped' if os.WIFSTOPPED(s) else 'continued' if os.WIFCONTINUED(s) else os.WEXITSTATUS(s) for s in seen]
    check('goes on', way, (words, program.stdout.read()), (['stopped', 'continued'] * 3 + [3], 'end\n'))
    program.returncode = 3

    # Its child does.
    program = start(way, CHILD_LETS_GO_ON)
    check('by its child', way, (program.communicate(timeout=100)[0], program.returncode), ('end\n', 3))

    for _ in range(5):
        program = start(way, ONCE)
        check('once', way, (program.communicate(timeout=100)[0], program.returncode), ('[15]\n', 0))

    # A script that ends its children, and the same that means its parent.
    heard = []
    signal.signal(signal.SIGUSR1, lambda s, f: heard.append(s))
    signal.signal(signal.SIGTERM, lambda s, f: heard.append(s))
    program = subprocess.run(WAYS[way] + ['/bin/sh', '-c', 'trap "" TERM; kill 0; sleep 0.1; echo survived'], stdout=subprocess.PIPE, text=True,
                             start_new_session=True, timeout=100)
    check('kill 0', way, (program.stdout, program.returncode, heard), ('survived\n', 0, []))
    program = subprocess.run(WAYS[way] + [PYTHON, '-c', f'import os; os.kill(os.getppid(), {int(signal.SIGUSR1)}); print("on")'],
                             stdout=subprocess.PIPE, text=True, start_new_session=True, timeout=100)
    check('to the parent', way, (program.stdout, program.returncode, heard), ('on\n', 0, [signal.SIGUSR1]))
    for words in ['/bin/sh', '-c', '(kill -USR1 $PPID; true); echo on'], [PYTHON, '-c', BY_TGKILL]:
        heard.clear()
        program = subprocess.run(WAYS[way] + words, stdout=subprocess.PIPE, text=True, start_new_session=True, timeout=100)
        check(f'to the parent by {words[0]}', way, (program.stdout, program.returncode, heard), ('on\n', 0, [signal.SIGUSR1]))

    pid, terminal = pty.fork()
    if pid == 0:
        words = WAYS[way] + [PYTHON, '-c', HANGS_UP]
        os.execv(words[0], words)
    text = b''
    while b'READY' not in text:
        text += os.read(terminal, 100)
    time.sleep(0.3)
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    check('hang-up', way, status, -signal.SIGHUP)
    print(f'{way}: as natively')


# Most of it is waiting.
checking = []
for way in WAYS:
    checking.append(os.fork())
    if checking[-1] == 0:
        check_way(way)
        sys.stdout.flush()
        os._exit(0)
sys.exit(int(any(os.waitpid(process, 0)[1] != 0 for process in checking)))
