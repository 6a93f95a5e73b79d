#!/usr/bin/env python3
"""check_late_signals.py SIMRUN GUEST: a signal at `simrun pinpoints` that comes when the program has ended already, and its profile or recording has not
been written yet, ends simrun as at any other time."""
import os
import signal
import subprocess
import sys
import tempfile

simrun, guest = map(os.path.abspath, sys.argv[1:3])


def children(process):
    with open(f'/proc/{process}/task/{process}/children') as file:
        return file.read().split()


def has_ended(process):
    try:
        with open(f'/proc/{process}/stat') as file:
            return file.read().rpartition(')')[2].split()[0] == 'Z'
    except OSError:
        return True


def program_of(process):
    while True:
        for child in children(process.pid):
            try:
                if os.path.realpath(f'/proc/{child}/exe') == guest:
                    return child
            except OSError:
                pass
        assert process.poll() is None


for number, options in (signal.SIGINT, []), (signal.SIGTERM, ['--record']):
    for _ in range(6):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([simrun, 'pinpoints', '-q', '-c', 'l3_1core', '-i', '1M', '-o', f'{folder}/o', '--validate', *options, '--', guest, '20'],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                       preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
            program = program_of(process)
            while not has_ended(program):
                pass
            process.send_signal(number)
            said = process.communicate(timeout=100)[1]
            assert process.returncode == -number, (process.returncode, options, said)
print('ended by each')
