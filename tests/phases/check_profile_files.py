#!/usr/bin/env python3
"""check_profile_files.py CASE SIMRUN GUEST: profiles that are not whole, and folders that two calls want (README.md)."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import check_phases
from check_phases import read, run

GUEST = None
CONFIG = ("--config", "l3_1core.yaml", "--interval", "100k", "--warm-up", "100k", "-k", "3", "--points", "20")


def start(*words):
    return subprocess.Popen([check_phases.SIMRUN, *map(str, words)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            start_new_session=True)


def wait_for(process, is_so):
    while not is_so():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def locked():
    """The second of two calls in one folder ends at once, and leaves to the first what it does; a dead one's lock is gone."""
    words = ("pinpoints", "-o", "d", *CONFIG, "--", GUEST, 150)
    first = start(*words)
    wait_for(first, lambda: os.path.exists("d/asked.json"))
    for others in (words, ("pinpoints", "--restart", *words[1:]), ("pinpoints", "-o", "./d", *CONFIG, "--record", "--", "true")):
        message = run(*others, status=1).stderr
        assert f"works in this folder (process {first.pid})" in message and message.count("\n") == 1, message
    os.kill(first.pid, signal.SIGKILL)
    first.communicate(timeout=60)
    again = start(*words)   # at once
    _, text = again.communicate(timeout=90)
    assert again.returncode == 0 and os.path.exists("d/report.json"), text
    run(*words)


if __name__ == "__main__":
    case, check_phases.SIMRUN, GUEST = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="simrun-profile-files-") as folder:
        os.chdir(folder)
        globals()[case]()
    print("passed")
