#!/usr/bin/env python3
"""Runs one real program natively and under `simrun --config l3_8core.yaml`, and compares.

Standard output and exit status must be equal; the JSON results must be complete and plausible for the program. Exit status: 0 equal,
1 different, 77 the program is not installed.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77

PYTHON_THREADS = """
import threading, hashlib
results = []
def work(n):
    h = hashlib.sha256()
    for k in range(3000):
        h.update(b'%d %d' % (n, k))
    results.append(h.hexdigest())
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(results))
"""

SQL = """create table t(a integer, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000) insert into t select x, 'v' || (x * x % 1000) from c;
create index i on t(b);
select count(*), sum(a), count(distinct b) from t;
select b, count(*) from t group by b order by 2 desc, 1 limit 5;
"""

SCENE = """camera { location <0, 2, -5> look_at 0 } light_source { <5, 10, -5> 1 }
sphere { 0, 1 pigment { rgb x } finish { reflection .3 phong 1 } } plane { y, -1 pigment { checker rgb 1 rgb 0 } }
"""

OPENMP = """#include <omp.h>
#include <stdio.h>
int main(void) {
  static double a[20000];
  double sum = 0;
  int members = 0;
#pragma omp parallel num_threads(8)
  {
#pragma omp atomic
    members++;
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < 20000; ++i) sum += a[i] = i * 0.5;
  }
  printf("%d threads, %.1f\\n", members, sum);
}
"""

EXCEPTIONS = """#include <cstdio>
#include <stdexcept>
struct Guard { int n; ~Guard() { std::printf("left %d\\n", n); } };
int descend(int n) { Guard g{n}; if (n == 0) throw std::runtime_error("bottom"); return descend(n - 1) + 1; }
int main() { for (int k = 0; k < 3; ++k) try { descend(5 * k); } catch (const std::exception& e) { std::puts(e.what()); } }
"""


class Program:
    """command: for the shell, in a directory with the prepared files. threads: at least so many in the results."""

    def __init__(self, command, needs, threads=1, instructions=100_000, prepare=None, mask=None):
        self.command, self.needs, self.threads, self.instructions = command, needs, threads, instructions
        self.prepare, self.mask = prepare, mask


def source(name, text, compiler=None):
    def prepare():
        with open(name, "w") as file:
            file.write(text)
        if compiler:
            subprocess.run(compiler + [name, "-o", "program"], check=True)
    return prepare


PROGRAMS = {
    "ls": Program(["ls", "-lR", "/usr/share/doc"], ["ls"]),
    "bash_pipes": Program(["bash", "-c", "ls / | sort | wc -l; for i in 1 2 3; do echo $i; done | cat; (exit 4) || echo $?"], ["bash"]),
    "xz": Program(["xz", "-1", "-T1", "-c", "data"], ["xz"]),
    "xz_threads": Program(["xz", "-1", "-T2", "--block-size=2MiB", "-c", "data"], ["xz"], threads=3),
    "gzip": Program(["gzip", "-1", "-c", "data"], ["gzip"]),
    "bzip2": Program(["bzip2", "-1", "-c", "data"], ["bzip2"]),
    "python_threads": Program(["/usr/bin/python3", "-c", PYTHON_THREADS], ["/usr/bin/python3"], threads=9),
    "perl": Program(["perl", "-e", "my %h; $h{$_ % 1000} += $_ for 1..100000; print join(',', map {$h{$_}} sort keys %h)"], ["perl"]),
    "gcc": Program(["gcc", "-O2", "-S", "-o", "-", "exceptions.cpp"], ["gcc"], prepare=source("exceptions.cpp", EXCEPTIONS)),
    "sqlite3": Program(["sqlite3", ":memory:", SQL], ["sqlite3"]),
    "7z": Program(["/usr/lib/p7zip/7z", "a", "-mx1", "-mmt2", "-bso0", "-bsp0", "-so", "-txz", "x", "data"], ["/usr/lib/p7zip/7z"], threads=2),
    "povray": Program(["povray", "+Iscene.pov", "+W80", "+H60", "-D", "+FP", "+O-", "+WT1"], ["povray"], prepare=source("scene.pov", SCENE)),
    "povray_threads": Program(["povray", "+Iscene.pov", "+W80", "+H60", "-D", "+FP", "+O-", "+WT2"], ["povray"], threads=3,
                              prepare=source("scene.pov", SCENE)),
    "openssl_speed": Program(["openssl", "speed", "-seconds", "1", "-bytes", "1024", "sha256"], ["openssl"], mask=r"[0-9.]+k?|\s+"),
    "busybox_static": Program(["busybox", "sh", "-c", "echo a b c | wc; ls /; exit 7"], ["busybox"], instructions=20_000),
    "openmp": Program(["./program"], ["gcc"], threads=8, prepare=source("openmp.c", OPENMP, ["gcc", "-O2", "-fopenmp"])),
    "exceptions": Program(["./program"], ["g++"], prepare=source("exceptions.cpp", EXCEPTIONS, ["g++", "-O2"])),
    "ends_by_signal": Program(["bash", "-c", "kill -TERM $$"], ["bash"]),
    "node": Program(["node", "-e", "const m = new Map(); for (let i = 0; i < 2e5; ++i) m.set(i % 97, i); console.log(m.get(5))"], ["node"]),
    "java": Program(["java", "-Xint", "-version"], ["java"], threads=2),
}


def write_data(name, size):
    """Text-like data: words drawn with a fixed seed, so that compressors have work."""
    generator = random.Random(1)
    words = ["%x" % generator.getrandbits(generator.choice((8, 16, 24))) for _ in range(5000)]
    with open(name, "w") as file:
        while file.tell() < size:
            file.write(" ".join(generator.choices(words, k=2000)) + "\n")


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=280)


def check(name, program, simrun):
    native = run(program.command)
    ours = run([simrun, "--config", "l3_8core.yaml", "--quiet", "--json", "results.json", "--"] + program.command)
    problems = []
    if ours.returncode != native.returncode:
        problems.append("status %d, natively %d" % (ours.returncode, native.returncode))
    masked = (lambda out: re.sub(program.mask.encode(), b"#", out)) if program.mask else (lambda out: out)
    if masked(ours.stdout) != masked(native.stdout):
        problems.append("output differs: %r..., natively %r..." % (ours.stdout[:200], native.stdout[:200]))
    with open("results.json") as file:
        results = json.load(file)
    if len(results["threads"]) < program.threads:
        problems.append("%d threads, at least %d expected" % (len(results["threads"]), program.threads))
    if results["totals"]["instructions"] < program.instructions:
        problems.append("%d instructions, at least %d expected" % (results["totals"]["instructions"], program.instructions))
    for level in results["levels"]:
        if level["misses"] > level["accesses"]:
            problems.append("level %s: more misses than accesses" % level["name"])
    if problems:
        problems.append("errors: %s" % ours.stderr[-600:].decode(errors="replace"))
    for problem in problems:
        print("%s: %s" % (name, problem))
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simrun")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("program", nargs="?", choices=sorted(PROGRAMS))
    arguments = parser.parse_args()
    if arguments.list:
        print(" ".join(PROGRAMS))
        return 0
    program = PROGRAMS[arguments.program]
    for needed in program.needs:
        if not shutil.which(needed):
            print("skipped: %s is not installed" % needed)
            return SKIPPED
    simrun = os.path.abspath(arguments.simrun)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        if "data" in program.command:
            write_data("data", 10_000_000 if program.needs[0] == "gzip" else 3_000_000)
        if program.prepare:
            program.prepare()
        return check(arguments.program, program, simrun)


if __name__ == "__main__":
    sys.exit(main())
