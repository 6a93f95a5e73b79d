#!/usr/bin/env python3
"""run_guest says what it is for: made guests under made simruns that change one thing each. Argument: run_guest."""

import os
import subprocess
import sys
import tempfile

GUEST = """#!/bin/sh
%s
echo out; echo err >&2; sleep ${SLEEP:-0}
[ "$CHANGED" = output ] && echo more
[ "$CHANGED" = errors ] && echo more >&2
[ "$CHANGED" = signal ] && { echo EXIT-SUCCESS; kill -9 $$; }
[ "$CHANGED" = folder ] && pwd
%s
exit ${STATUS:-3}
"""
# What stands where simrun would: takes the options up to `--`.
SIMRUN = """#!/bin/sh
while [ "$1" != -- ]; do echo "$1" >> %s/options; shift; done; shift
%s exec "$@"
"""


class Case:
    def __init__(self, folder, runner):
        self.folder, self.runner = folder, runner

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as script:
            script.write(text)
        os.chmod(path, 0o755)
        return path

    def run(self, changed="", *options, known="", at_first="", last="echo EXIT-SUCCESS", name="made"):
        """Exit status and output of the runner: of the guest and a simrun that sets variables before it runs it."""
        guest = self.script(name, GUEST % (at_first, last))
        simrun = self.script("simrun", SIMRUN % (self.folder, changed))
        with open(os.path.join(self.folder, "known"), "w") as file:
            file.write("# name mode reason\n" + known)
        environment = {k: v for k, v in os.environ.items() if k != "SIMRUN"}
        done = subprocess.run([self.runner, "--simrun", simrun, "--known", file.name, *options, guest], stdout=subprocess.PIPE, text=True,
                              env=dict(environment, TMPDIR=self.folder))
        return done.returncode, done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        case = Case(folder, os.path.abspath(sys.argv[1]))

        def expect(status, words, *arguments, **named):
            found, output = case.run(*arguments, **named)
            assert found == status and all(word in output for word in words), (status, words, arguments, named, found, output)

        expect(0, [])
        expect(1, ["made under trace: output differs", "+more"], "CHANGED=output")
        expect(1, ["errors differ", "+more"], "CHANGED=errors")
        expect(1, ["status 4, natively 3"], "STATUS=4")
        expect(1, ["status SIGKILL, natively 3"], "CHANGED=signal")
        expect(1, ["did not end in time", "out"], "SLEEP=30", "--seconds", "0.5")
        expect(1, ["native run", "status 3"], last="")
        expect(77, ["SKIPPED: no such processor"], at_first="echo SKIPPED: no such processor; exit 0")
        expect(77, ["not meant to hold"], "CHANGED=output", "--mode", "storm", name="spawn")
        expect(0, ["known failure: some reason"], "CHANGED=output", known="made tr* some reason\n")
        expect(1, ["output differs"], "CHANGED=output", known="made sim some reason\nother trace some reason\n")
        expect(1, ["passes under trace, though"], known="made trace some reason\n")
        expect(2, [], "", "--mode", "no-such-mode")
        os.remove(os.path.join(folder, "options"))
        expect(0, [], "", "--mode", "single")
        with open(os.path.join(folder, "options")) as options:
            assert options.read().split() == ["--quiet", "--mode", "trace", "--max-superblock", "1"]
        left = sorted(os.listdir(folder))
        assert left == ["known", "made", "options", "simrun", "spawn"], left
        done = subprocess.run([case.runner, os.path.join(folder, "made")], env=dict(os.environ, SIMRUN=""))
        assert done.returncode == 0


main()
