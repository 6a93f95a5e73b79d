#!/usr/bin/env python3
"""Runs a guest program natively and under simrun and compares what can be seen from outside.

Standard output, standard error and exit status (or signal) must be equal, and the native run must end in EXIT-SUCCESS:
a guest that does not hold natively proves nothing. SIMRUN in the environment replaces --simrun; an empty one compares
native with native, which tests the guests and this script. Exit status: 0 equal, 1 different, 77 not possible here.
"""

import argparse
import ctypes
import difflib
import fnmatch
import os
import shlex
import signal
import subprocess
import sys
import tempfile

MACHINE = "l3_8core.yaml"
SLOW_AND_SIMPLE = ["--mode", "trace", "--max-superblock", "1"]
MODES = {
    "null": ["--mode", "null"],
    "count": ["--mode", "count", "--protect-code", "1"],
    "trace": ["--mode", "trace"],
    "sim": ["--mode", "sim", "--config", MACHINE],
    "single": SLOW_AND_SIMPLE,
    "nolink": ["--mode", "trace", "--no-link"],
    "noelide": ["--mode", "trace", "--no-elide", "--max-superblock", "3", "--protect-code", "1"],
    "safepoints": ["--mode", "trace", "--force-safe-points", "3", "--ring-size", "16KiB"],
    "tinycache": ["--mode", "null", "--code-cache", "256KiB", "--protect-code", "1"],
    "storm": ["--mode", "trace", "--ring-size", "16KiB", "--protect-code", "2"],  # with libraries/storm.c
    "nullstorm": ["--mode", "null", "--protect-code", "1"],
}
# Not of every guest (CMakeLists.txt): all children are left out, and traced until they end.
FEW_GUESTS = {"leftout": ["--mode", "null", "--follow-children", "nothing-of-this-name"]}
# Not in a storm: they count on calls that are not interrupted, on timers of their own, on the environment, or on where a signal comes.
CALM = {"interrupted_calls", "user_dispatch", "seccomp_notify", "timers", "exec_from_thread", "environment", "spawn", "exec_self", "tracers",
        "seccomp_continued", "traced_by_sharer", "traced_in_calls", "no_room_for_frame", "endless_ways", "personality", "stepped_transfers"}
SKIPPED = 77
NO_RANDOMISATION = 0x0040000


class Run:
    """What a program did: output, error output, status (negative: a signal), or that it did not end."""

    def __init__(self, command, directory, seconds, preload=None):
        environment = {"PATH": "/usr/bin:/bin", "HOME": directory, "LC_ALL": "C", "GUEST": "yes"}
        if preload:
            environment.update(LD_PRELOAD=preload, STORM=os.path.basename(command[-1]))
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=directory, env=environment, start_new_session=True, preexec_fn=same_addresses)
        self.timed_out = False
        try:
            self.output, self.errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.timed_out = True
            os.killpg(process.pid, signal.SIGKILL)
            self.output, self.errors = process.communicate()
        self.status = process.returncode

    def differences(self, native):
        if self.timed_out:
            return ["did not end in time; output so far: %s" % tail(self.output),
                    "errors so far: %s" % tail(self.errors)]
        found = []
        if self.status != native.status:
            found.append("status %s, natively %s" % (describe(self.status), describe(native.status)))
        for what, ours, theirs in (("output", self.output, native.output), ("errors", self.errors, native.errors)):
            if ours != theirs:
                found.append("%s differ:\n%s" % (what, difference(theirs, ours)))
        return found


def same_addresses():
    # What nohup and shells in the background have ignored, so that a guest finds the same everywhere.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    # As simrun does: addresses in the native run may be compared too.
    ctypes.CDLL(None).personality(NO_RANDOMISATION)


def describe(status):
    return signal.Signals(-status).name if status < 0 else str(status)


def tail(data):
    return data[-2000:].decode(errors="replace")


def difference(native, ours):
    lines = [text.decode(errors="replace").splitlines() for text in (native, ours)]
    return "\n".join(list(difflib.unified_diff(*lines, "native", "simrun", lineterm="", n=1))[:40])


def simrun_command(given):
    return shlex.split(os.environ.get("SIMRUN", given or ""))


def known_failure(path, name, mode):
    with open(path) as lines:
        for line in lines:
            words = line.split(None, 2)
            if len(words) == 3 and not line.startswith("#") and words[0] == name and fnmatch.fnmatch(mode, words[1]):
                return words[2].strip()
    return None


def compare(guest, mode, simrun, seconds):
    """Differences between the native run and that under simrun; None when the guest says that it cannot run here."""
    preload = os.path.join(os.path.dirname(guest), "libstorm.so") if mode.endswith("storm") else None
    if preload and os.path.basename(guest) in CALM:
        print("not meant to hold while signals arrive")
        return None
    with tempfile.TemporaryDirectory(prefix="simrun_guest_") as directory:
        native = Run([guest], directory, seconds, preload)
        if native.output.startswith(b"SKIPPED"):
            print(native.output.decode())
            return None
        if native.timed_out or not native.output.endswith(b"EXIT-SUCCESS\n"):
            return ["native run: status %s, output %s, errors %s" % (describe(native.status), tail(native.output),
                                                                     tail(native.errors))]
    with tempfile.TemporaryDirectory(prefix="simrun_guest_") as directory:
        command = simrun + ["--quiet"] + (MODES | FEW_GUESTS)[mode] + ["--", guest] if simrun else [guest]
        return Run(command, directory, seconds, preload).differences(native)


def main():
    if sys.argv[1:] == ["--list-modes"]:
        print(" ".join(MODES))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simrun", default="")
    parser.add_argument("--mode", choices=MODES | FEW_GUESTS, default="trace")
    parser.add_argument("--known", default=os.devnull)
    parser.add_argument("--seconds", type=float, default=50)
    parser.add_argument("guest")
    arguments = parser.parse_args()
    guest = os.path.abspath(arguments.guest)
    name = os.path.basename(guest)
    found = compare(guest, arguments.mode, simrun_command(arguments.simrun), arguments.seconds)
    if found is None:
        return SKIPPED
    reason = known_failure(arguments.known, name, arguments.mode)
    for line in found:
        print("%s under %s: %s" % (name, arguments.mode, line))
    if reason and not found:
        print("%s passes under %s, though it is listed as a known failure: %s" % (name, arguments.mode, reason))
        return 1
    if reason:
        print("known failure: " + reason)
        return 0
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
