#!/usr/bin/env python3
"""check_profile_files.py CASE SIMRUN GUEST: profiles that are not whole, and folders that two calls want (README.md)."""
import ctypes
import os
import pathlib
import signal
import struct
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


def interrupted():
    """A profile of a run that was interrupted says so, to who reads it later; so does one of a program that a signal ended."""
    for name in ("a.bb", "a.bb.zst", "a.h5"):
        for seconds in (1, 5, 20):   # before its first interval is over there is no profile
            process = start("bbv", "-q", "-o", name, "-i", "100k", "--", GUEST, 100000)
            time.sleep(seconds)
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=60)
            if process.returncode == -signal.SIGINT and os.path.exists(name):
                break
        said = run("simpoint", "-o", "p", name).stderr
        assert said == f"simrun: warning: {name}: signal 2 ended the run that was profiled: what the program would have done then is in no vector\n", said
    text = open("a.bb").read()
    assert text.count("\n# ended-by signal 2\n") == 1 and "\n# instructions " in text
    run("bbv", "-q", "-o", "b.bb", "-i", "10k", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do :; done; kill -9 $$", status=-9)
    assert "\n# ended-by signal 9\n" in open("b.bb").read()
    run("bbv", "-q", "-o", "c.bb", "--", GUEST, 2)
    assert "ended-by" not in open("c.bb").read() and run("simpoint", "c.bb").stderr == ""
    # pinpoints says it of the program, and again when it takes the profile that is there.
    words = ("pinpoints", "-o", "d", "--config", "l3_1core", "-i", "10k", "--warm-up", "10k", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do :; done; kill -9 $$")
    first, again = run(*words).stderr, run(*words).stderr
    assert first.count("signal 9") == 1 and "warning: profile: the program was ended by signal 9" in first, first
    assert "profile.bb.zst: signal 9 ended the run that was profiled" in again, again


def cut_off():
    """Of a profile whose end is missing what is whole is taken, with a warning that names the file."""
    run("bbv", "-q", "-o", "a.bb", "-i", "100k", "--", GUEST, 4)
    lines = open("a.bb").read().splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines, 1) if line.startswith("T")]
    half = "".join(lines[:ends[len(ends) // 2]])
    for behind in ("", "# interval 9", lines[ends[len(ends) // 2]], lines[ends[len(ends) // 2]] + "T:1:1 :2"):
        pathlib.Path("cut.bb").write_text(half + behind)
        done = run("simpoint", "-q", "-o", "p", "cut.bb")
        assert "warning: cut.bb: cut off behind" in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert len(open("p.labels").readlines()) == len(ends) // 2 + 1
    assert run("simpoint", "a.bb").stderr == ""


def nothing_counted():
    """Where nothing was counted it is said why; one region is no regions; weights that are too large are named."""
    killed = ("-i", "10M", "--", "sh", "-c", "kill -9 $$")
    for words in (("bbv", "-o", "a.bb"), ("pinpoints", "-o", "d", "--config", "l3_1core")):
        message = run(*words, *killed, status=1).stderr
        assert "signal 9 ended the program within its first interval, and what was counted by then was lost with it" in message, message
        assert "nothing that is counted" not in message and not os.path.exists(words[2])
    run("bbv", "-q", "-o", "a.bb", "--exact-order", *killed, status=-9)   # as the message says
    assert "executed nothing that is counted" in run("pinpoints", "-o", "d", "--config", "l3_1core", "--leave-out", "*", "--", "true", status=1).stderr
    said = run("pinpoints", "-o", "d", "--config", "l3_1core", "-i", "10M", "--", "true").stderr
    assert "analysis: 1 interval, 1 phase, 1 region, warm-ups" in said, said
    open("b.bb", "w").write("T:1:2 \nT:2:5 \nT:1:9 \n")
    open("w", "w").write(3 * "1e308\n")
    assert "w: its weights are too large" in run("simpoint", "b.bb", "-loadVectorWeights", "w", status=1).stderr


def builds():
    """Profiles have the build ids of files; when a library is another one in the next pass, it is named. (The library: a copy of libm.)"""
    ctypes.CDLL("libm.so.6")
    original = next(line.split()[-1] for line in open("/proc/self/maps") if "/libm.so.6" in line or "/libm-" in line)
    library = pathlib.Path("libx.so").resolve()
    data = pathlib.Path(original).read_bytes()
    at = data.index(struct.pack("<III", 4, 20, 3) + b"GNU\0") + 16   # the note (elf(5))
    build_id = data[at:at + 20]
    library.write_bytes(data)
    os.environ["LD_PRELOAD"] = str(library)
    program = ("--", "/bin/sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done")
    run("bbv", "-q", "-o", "a.bb", "-i", "100k", *program)
    run("bbv", "-q", "-o", "b.bb", "-i", "100k", "--exact-order", *program)
    for name in ("a.bb", "b.bb"):
        assert f"# build-id {build_id.hex()} module {library}\n" in open(name).read(), name
    words = ("pinpoints", "-o", "d", "--config", "l3_1core", "-i", "100k", "--warm-up", "100k")
    run(*words, *program)
    recorded = ("pinpoints", "-o", "r", *words[3:], "--record")
    run(*recorded, *program)
    library.unlink()
    library.write_bytes(data[:at] + bytes(byte ^ 255 for byte in build_id) + data[at + 20:])
    run(*words, *program)   # nothing is run
    for folder in "dr":
        os.remove(f"{folder}/regions.json")
    message = run(*words, *program, status=1).stderr
    assert f"regions: {library} is another build than in the profile" in message, message
    run(*recorded, *program)   # it is in the trace
    run(*words, "--restart", *program)


if __name__ == "__main__":
    case, check_phases.SIMRUN, GUEST = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="simrun-profile-files-") as folder:
        os.chdir(folder)
        globals()[case]()
    print("passed")
