#!/usr/bin/env python3
"""Runs a real program natively and under simrun: output, exit status and the files that it wrote must be equal, and the
report must say what a run of that program cannot do without (threads, a least number of instructions).

SIMRUN in the environment replaces --simrun; an empty one compares native with native. Exit status 77: a program that is
needed is missing.
"""

import argparse
import difflib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "guest"))
from programs import CASES  # noqa: E402
from modes import MODES  # noqa: E402

SKIPPED = 77


class Outcome:
    def __init__(self, case, prefix, directory, environment, seconds):
        command = prefix + [shutil.which(case.command[0], path=environment["PATH"])
                            or case.command[0]] + case.command[1:]
        process = subprocess.Popen(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        try:
            self.output, self.errors = process.communicate(timeout=seconds)
            self.status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.output, self.errors = process.communicate()
            self.status = "did not end in %d s" % seconds
        shape = case.shape or (lambda text: text)
        self.output = shape(self.output)
        self.errors = shape(self.errors) if case.errors else b""
        self.files = [contents(os.path.join(directory, name)) for name in case.artefacts]


def contents(path):
    try:
        with open(path, "rb") as data:
            return data.read()
    except FileNotFoundError:
        return None


def run(case, prefix, shared, seconds):
    # The same path both times: programs like gcc and 7z write it into what they make.
    directory = os.path.join(shared, "work")
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory)
    environment = {"PATH": "/usr/bin:/bin", "HOME": directory, "LC_ALL": "C", "TZ": "UTC", "SHARED": shared,
                   "SOURCES": os.path.join(HERE, "sources")}
    if case.prepare:
        subprocess.run(["bash", "-ec", case.prepare], cwd=directory, env=environment, check=True)
    return Outcome(case, prefix, directory, environment, seconds)


def difference(native, ours):
    lines = [text.decode(errors="replace").splitlines() for text in (native, ours)]
    return "\n".join(list(difflib.unified_diff(*lines, "native", "simrun", lineterm="", n=1))[:40])


def compare(case, native, ours):
    found = []
    if native.status != ours.status:
        found.append("status %s, natively %s" % (ours.status, native.status))
    if native.output != ours.output:
        found.append("output differs:\n" + difference(native.output, ours.output))
    if native.errors != ours.errors:
        found.append("errors differ:\n" + difference(native.errors, ours.errors))
    return found + ["%s differs" % name for name, a, b in zip(case.artefacts, native.files, ours.files) if a != b]


def implausible(case, results, mode):
    """What the JSON results say that cannot be true of this program."""
    found = [] if results["complete"] else ["the report is not complete: %s" % results["error"]]
    if "null" in MODES[mode]:
        return found
    if len(results["threads"]) < case.threads:
        found.append("%d threads in the report, at least %d expected" % (len(results["threads"]), case.threads))
    if results["totals"]["instructions"] < case.instructions:
        found.append("%d instructions in the report, at least %d expected" % (results["totals"]["instructions"],
                                                                              case.instructions))
    return found + ["level %s: more misses than accesses" % level["name"] for level in results["levels"]
                    if level["misses"] > level["accesses"]]


def under_simrun(case, simrun, mode, shared, native):
    if not simrun:
        return compare(case, native, run(case, [], shared, case.seconds))
    report = os.path.join(shared, "results.json")
    prefix = simrun + ["--quiet", "--json", report] + MODES[mode] + ["--"]
    found = compare(case, native, run(case, prefix, shared, case.seconds))
    try:
        with open(report) as text:
            return found + implausible(case, json.load(text), mode)
    except (OSError, ValueError) as error:
        return found + ["no report: %s" % error]


def main():
    if sys.argv[1:] == ["--list"]:
        print(" ".join(name for name, case in CASES.items() if not case.slow))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simrun", default="")
    parser.add_argument("--mode", choices=MODES, default="sim")
    parser.add_argument("case", choices=CASES)
    arguments = parser.parse_args()
    case = CASES[arguments.case]
    missing = [name for name in case.needs + case.command[:1] if not name.startswith("./") and not os.path.isabs(name) and
               not shutil.which(name, path="/usr/bin:/bin") or os.path.isabs(name) and not os.path.exists(name)]
    if missing:
        print("not installed: " + " ".join(missing))
        return SKIPPED
    simrun = shlex.split(os.environ.get("SIMRUN", arguments.simrun))
    with tempfile.TemporaryDirectory(prefix="simrun_program_") as shared:
        native = run(case, [], shared, min(case.seconds, 200))
        found = under_simrun(case, simrun, arguments.mode, shared, native)
    for line in found:
        print("%s under %s: %s" % (arguments.case, arguments.mode, line))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
