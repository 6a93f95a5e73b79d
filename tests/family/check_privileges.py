#!/usr/bin/env python3
"""check_privileges.py SIMRUN: what an ordinary user's programs execute has the privileges that it has natively.

A set-user-ID program and one with file capabilities, executed behind fork, vfork and by the program itself: simrun, which has no privileges,
must not trace them. Needs to be root in order to make such files and to be another user."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile

NOBODY = 65534
SKIPPED = 77
CAP_NET_RAW = 1 << 13
REVISION_2_EFFECTIVE = 0x02000001   # include/uapi/linux/capability.h: VFS_CAP_REVISION_2, VFS_CAP_FLAGS_EFFECTIVE


def main():
    if os.geteuid() != 0:
        print('only root can make files with privileges')
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        bin_folder = os.path.join(folder, 'bin')   # where everybody can execute it
        os.mkdir(bin_folder)
        for name in 'simrun', 'simrun-engine':
            shutil.copy(os.path.join(os.path.dirname(sys.argv[1]), name), bin_folder)
        id_of_root, status = os.path.join(folder, 'id'), os.path.join(folder, 'grep')
        shutil.copy('/usr/bin/id', id_of_root)
        os.chmod(id_of_root, 0o4755)
        shutil.copy('/bin/grep', status)
        try:
            os.setxattr(status, 'security.capability', struct.pack('<5I', REVISION_2_EFFECTIVE, CAP_NET_RAW, 0, 0, 0))
        except OSError as error:
            print('no file capabilities here:', error)
            sys.exit(SKIPPED)
        commands = [f'{id_of_root} -u', f'{status} CapEff /proc/self/status']
        # dash makes its children by vfork, or by fork when there is more to do in them, and executes the last command itself.
        ways = {'behind vfork': '{}; true', 'behind fork': '({}; true) | cat', 'by itself': 'exec {}'}
        failed = False
        for command in commands:
            for way, script in ways.items():
                words = ['sh', '-c', script.format(command)]
                prefix = ['setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY), '--clear-groups']
                native = subprocess.run(prefix + words, capture_output=True, text=True).stdout
                if way == 'behind vfork' and native == 'CapEff:\t0000000000000000\n' or native == f'{NOBODY}\n':
                    print('privileges of files mean nothing here (nosuid)')
                    sys.exit(SKIPPED)
                for mode in 'null', 'trace':
                    run = subprocess.run(prefix + [os.path.join(bin_folder, 'simrun'), '-q', '--mode', mode, '--'] + words,
                                         capture_output=True, text=True)
                    if (run.stdout, run.returncode) != (native, 0):
                        print(f'FAILED: {command} {way}, {mode}: {run.stdout!r}, status {run.returncode}, {run.stderr!r}; natively {native!r}')
                        failed = True
    sys.exit(failed)


main()
