#!/usr/bin/env python3
"""check_segments.py SIMRUN PROGRAM: the program's segment bases added to addresses (--no-fsgsbase), as where the kernel has no FSGSBASE."""
import subprocess
import sys

SIMRUN, PROGRAM = sys.argv[1:3]

for mode in ("null", "count", "trace"):

    def run(*command):
        return subprocess.run([SIMRUN, "run", "-q", "--mode", mode, "--no-fsgsbase", "--", *command], capture_output=True, text=True, timeout=300)

    for what, output in (("operand", "9"), ("null", "0 base"), ("memory", "5"), ("nowhere", "signal 11"), ("refused", "signal 11"), ("instruction", "signal 4")):
        done = run(PROGRAM, what)
        assert (done.returncode, done.stdout.strip()) == (0, output), (mode, what, done)
    for what, said in (("selector", "loads a selector into fs or gs at 0x"), ("string", "uses its own segment base at 0x")):
        done = run(PROGRAM, what)
        assert done.returncode == 1 and said in done.stderr and "FSGSBASE" in done.stderr, (mode, what, done)
    # Threads, processes that go native and that are followed, signals.
    threads = "import threading; got = []; t = [threading.Thread(target=got.append, args=(k,)) for k in range(9)]; [x.start() for x in t]; [x.join() for x in t]; print(sorted(got))"
    assert run("/usr/bin/python3", "-c", threads).stdout == f"{list(range(9))}\n"
    shell = "trap 'echo caught' USR1; kill -USR1 $$; (echo child; exit 3); echo $?; ls / | wc -l; exec echo end"
    assert run("/bin/bash", "-c", shell).stdout == subprocess.run(["/bin/bash", "-c", shell], capture_output=True, text=True).stdout
