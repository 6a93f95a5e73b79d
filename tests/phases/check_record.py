#!/usr/bin/env python3
"""check_record.py SIMRUN GUEST FAULTING_GUEST: `simrun pinpoints --record` of a program that does something else each time it runs, and counts its runs in
the file "runs" (drifting.c)."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

import check_pinpoints

from check_pinpoints import CONFIG, run

WORDS = (*CONFIG, "--interval", "20k", "--warm-up", "40k", "--points", "80", "--validate")


def runs():
    return int(pathlib.Path("runs").read_text())


def one_run_is_enough(guest):
    done = run("-o", "d", "--record", *WORDS, "--", guest)
    assert runs() == 1
    assert "not found" not in done.stderr and "did not come near" not in done.stderr, done.stderr
    report = json.load(open("d/report.json"))
    assert not report["lost"]
    for name in ("L1D MPKI", "CPI estimate", "stores"):
        assert report["figures"][name]["warm_error"] < 0.05, (name, report["figures"][name])
    recorded = json.loads(subprocess.run([check_pinpoints.SIMRUN, "info", "--json", "d/run.trace"], capture_output=True, check=True).stdout)
    assert recorded["instructions"] == report["instructions"]
    again = run("-o", "d", "--record", *WORDS, "--", guest).stderr
    assert runs() == 1 and again.count("is there already") == 4, again
    assert json.load(open("d/report.json")) == report
    run("-o", "d", "--record", "--restart", *WORDS, "--", guest)
    assert runs() == 2
    os.remove("d/run.trace")
    assert "is there already" not in run("-o", "d", "--record", *WORDS, "--", guest).stderr, "of another run"
    assert runs() == 3


def another_kind_of_run_is_refused(guest):
    assert "record was another" in run("-o", "d", *WORDS, "--", guest, status=1).stderr
    wrong = run("-o", "x", "--record", "--trace", "d/run.trace", *WORDS, status=2).stderr
    assert "--record is for a program that runs" in wrong
    assert not os.path.exists("x")


def what_cannot_be_written_is_said(guest):
    before = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    done = subprocess.run([check_pinpoints.SIMRUN, "pinpoints", "-o", "full", "--record", *WORDS, "--", guest], preexec_fn=before,
                          capture_output=True, text=True, timeout=100)
    assert done.returncode == 1 and "cannot write full/run.trace" in done.stderr, done
    assert not os.path.exists("full"), os.listdir("full")


def interrupted(guest):
    words = [check_pinpoints.SIMRUN, "pinpoints", "-o", "i", "--record", *WORDS, "--", "sh", "-c", f"{guest}; touch waits; exec sleep 60"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not os.path.exists("waits"):
        time.sleep(0.05)
    time.sleep(1)   # until the shell is the other program, which does not wait for a child
    os.killpg(process.pid, signal.SIGINT)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == -signal.SIGINT, (process.returncode, error)
    assert "recording: the program was ended by signal" in error, error
    assert sorted(os.listdir("i")) == [".lock", "asked.json"]


def interrupted_behind_it(guest):
    words = [check_pinpoints.SIMRUN, "pinpoints", "-o", "b", "--record", *WORDS, "--", guest]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not process.stderr.readline().startswith("simrun: recording:"):
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == -signal.SIGINT and "What was finished before stays in b; the same call goes on" in error, (process.returncode, error)
    assert os.path.exists("b/run.trace") and not os.path.exists("b/report.json"), os.listdir("b")


def of_a_program_that_fails(guest):
    """All of it is counted, and how it ended is said, with -q too."""
    counted = []
    for options in ((), ("--record",)):
        done = run("-q", "-o", "f", "--restart", *options, *CONFIG, "--interval", "100k", "--", guest)
        assert "the program was ended by signal 11" in done.stderr, done.stderr
        counted.append(json.load(open("f/report.json"))["instructions"])
    assert counted[0] == counted[1] > 5_000_000, counted


if __name__ == "__main__":
    check_pinpoints.SIMRUN, guest, faulting_guest = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="simrun-record-") as folder:
        os.chdir(folder)
        one_run_is_enough(guest)
        another_kind_of_run_is_refused(guest)
        what_cannot_be_written_is_said(guest)
        interrupted(guest)
        interrupted_behind_it(guest)
        of_a_program_that_fails(faulting_guest)
    print("passed")
