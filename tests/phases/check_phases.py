#!/usr/bin/env python3
"""check_phases.py CASE SIMRUN GUEST: one case of tests/phases (README.md)."""
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SIMRUN = GUEST = None
INTERVAL = re.compile(r"# interval (\d+) start (\d+) length (\d+) count (\d+) (?:process \S+ )?"
                      r"(?:thread \S+ thread-count \d+ )?pc (\S+) offset (\S+) module (.*)")


def run(*words, status=0, program_output=None):
    done = subprocess.run([SIMRUN, *map(str, words)], capture_output=True, text=True, timeout=100)
    assert done.returncode == status, f"{words}: status {done.returncode}, not {status}\n{done.stderr}"
    if program_output is not None:
        assert done.stdout == program_output, f"{words}: {done.stdout!r}"
    return done


def bbv(name, *options, rounds=2, threads=1):
    run("bbv", "-q", "-o", name, *options, "--", GUEST, rounds, threads, program_output="done\n")
    return read(name)


def read(name):
    """The vectors of a text profile, what its comments say of intervals, and the rest of them; "strings": what the vectors have of
    string instructions, which is taken out of them, for each interval."""
    vectors, intervals, rest = [], [], {}
    for line in open(name):
        if line.startswith("T"):
            pairs = [entry.split(":") for entry in line[1:].split()]
            vectors.append({int(block): int(count) for _, block, count in pairs})
        elif match := INTERVAL.match(line):
            assert int(match[1]) == len(intervals)
            intervals.append((int(match[2]), int(match[3]), int(match[4]), int(match[5], 16), match[7]))
        elif match := re.match(r"# ([a-z-]+) (.*)", line):
            rest.setdefault(match[1], []).append(match[2])
    assert len(vectors) == len(intervals)
    strings = {number for number, block in enumerate(rest.get("block", []), 1) if block.endswith(" [strings]")}
    rest["strings"] = [sum(vector.pop(number, 0) for number in strings) for vector in vectors]
    return vectors, intervals, rest


def instructions(*options, rounds=2, threads=1):
    run("run", "-q", "--mode", "trace", "--json", "trace.json", *options, "--", GUEST, rounds, threads)
    return json.load(open("trace.json"))["totals"]["instructions"]


def consistent(vectors, intervals, rest):
    start = 0
    for vector, interval in zip(vectors, intervals):
        assert interval[0] == start, interval
        start += interval[1]
        assert interval[2] > 0 and interval[3] > 0
    assert sum(map(lambda v: sum(v.values()), vectors)) + int(rest["left-out"][0]) == int(rest["instructions"][0])


def vectors():
    profile = bbv("a.bb", "--interval", "100k")
    consistent(*profile)
    total = int(profile[2]["instructions"][0])
    assert total == instructions()
    assert [i[1] for i in profile[1][:-1]] == [100_000] * (len(profile[1]) - 1)
    assert all(sum(v.values()) == 100_000 for v in profile[0][:-1])
    assert bbv("b.bb", "--interval", "100k") == profile, "two runs differ"
    modules = {block.split("module ")[1] for block in profile[2]["block"]} - {"[strings]"}
    assert modules == {os.path.realpath(GUEST), "[vdso]"} or modules == {os.path.realpath(GUEST)}, modules


def counted():
    """Counts made in the program and a trace say the same, to the marker."""
    by_name = lambda p: ([{p[2]["block"][b - 1].split(" ", 1)[1]: n for b, n in v.items()} for v in p[0]], p[1])
    for interval in ("77777", "1M"):
        quick = by_name(bbv("a.bb", "--interval", interval))
        exact = by_name(bbv("b.bb", "--interval", interval, "--exact-order"))
        assert quick[1] == exact[1]
        # A block whose end was not executed yet when its interval ended has a name of its own.
        assert sum(a != b for a, b in zip(quick[0], exact[0])) <= 2
    vectors, intervals, rest = profile = bbv("a.bb", "--interval", "320k", rounds=1, threads=3)
    consistent(*profile)
    total = instructions(rounds=1, threads=3)  # how often a thread asks for a lock depends on the run
    assert rest["threads"] == ["3"] and abs(int(rest["instructions"][0]) - total) < 0.001 * total
    # A thread's report is late by a 32nd at most.
    assert all(320_000 <= interval[1] < 340_000 for interval in intervals[5:-1]), intervals
    of = [int(re.match(r"\d+ thread (\d+)", block)[1]) for block in rest["block"]]
    assert {of[block - 1] for block in vectors[len(vectors) // 2]} == {0, 1, 2}, "an interval is of all threads"


def superblocks():
    """A boundary, a vector and a marker say nothing of the engine's superblocks."""
    def by_place(name, *options):
        found, intervals, rest = bbv(name, "--interval", "50k", *options, rounds=1)
        places = [block.split(" ", 1)[1] for block in rest["block"]]
        assert len(set(places)) == len(places)
        return [{places[block - 1]: count for block, count in vector.items()} for vector in found], intervals
    usual = by_place("a.bb")
    for options in (["--max-superblock", "7"], ["--no-link"], ["--verify"]):
        other = by_place("b.bb", *options)
        assert other[1] == usual[1], options
        different = sum(a != b for a, b in zip(other[0], usual[0]))
        # A block whose end was not executed yet when its interval ended has a name of its own.
        assert different <= 2, (options, different)


def formats():
    profile = bbv("a.bb")
    assert profile == bbv("c.bb")
    run("bbv", "-q", "-o", "a.bb.gz", "--", GUEST, 2, 1)
    run("-q", "bbv", "-o", "a.bb.zst", "--", GUEST, 2, 1)
    run("bbv", "-q", "-o", "a.h5", "--", GUEST, 2, 1)
    text = open("a.bb").read()
    assert gzip.open("a.bb.gz", "rt").read() == text
    reports = {run("simpoint", name).stdout for name in ("a.bb", "a.bb.gz", "a.bb.zst", "a.h5")}
    assert len(reports) == 1
    assert open("a.h5", "rb").read(8) == b"\x89HDF\r\n\x1a\n"
    assert sorted(os.listdir()) == ["a.bb", "a.bb.gz", "a.bb.zst", "a.h5", "c.bb"]


def kinds():
    total = instructions()
    for kind in ("loop", "procedure"):
        profile = bbv("a.bb", "--interval", "100k", "--intervals", kind)
        consistent(*profile)
        assert int(profile[2]["instructions"][0]) == total
        assert all(interval[1] >= 100_000 for interval in profile[1][:-1])
        assert any(interval[1] > 100_000 for interval in profile[1])
        if kind == "loop":  # every pass of a loop is an end: not far behind
            assert all(interval[1] < 100_100 for interval in profile[1][10:-1]), profile[1]


def exact_ends():
    """Of even_loop.S: an interval that is as long as it should be where a path ends does not go on to the next pass."""
    def lengths(kind, pass_length):
        run("bbv", "-q", "-o", f"{kind}.bb", "--interval", 1000 * pass_length, "--intervals", kind, "--", GUEST)
        return [interval[1] for interval in read(f"{kind}.bb")[1]]
    assert lengths("loop", 10)[1:19] == [10_000] * 18, lengths("loop", 10)
    assert lengths("procedure", 7)[-9:-1] == [7_000] * 8, lengths("procedure", 7)


def strings():
    """Of strings.S: bytes of repeated string instructions are in the vectors, the same from counts and from a trace."""
    expected = (1000 * (100 + 80 + 5 + 6 + 28) + 8192) // 16
    for interval in ("1k", "7777"):
        for name, options in (("a.bb", []), ("b.bb", ["--exact-order"])):
            run("bbv", "-q", "-o", name, "--interval", interval, *options, "--", GUEST)
        quick, exact = read("a.bb"), read("b.bb")
        assert sum(quick[2]["strings"]) == sum(exact[2]["strings"]) == expected, (quick[2]["strings"], exact[2]["strings"])
        assert quick[2]["strings"] == exact[2]["strings"] and quick[1] == exact[1]
        consistent(*quick)
        consistent(*exact)
        assert sum(block.endswith(" [strings]") for block in quick[2]["block"]) == 1
        for options in ([], ["--exact-order"]):
            run("bbv", "-q", "-o", "c.bb", "--no-strings", "--interval", interval, *options, "--", GUEST)
            text = open("c.bb").read()
            sums = [sum(int(entry.split(":")[2]) for entry in line[1:].split()) for line in text.splitlines() if line.startswith("T")]
            assert sums == [length for _, length, *_ in quick[1]] and "[strings]" not in text, sums
    # Intervals weigh by their instructions all the same.
    run("simpoint", "-q", "-o", "p", "a.bb")
    weights = {point: float(weight) for weight, point in map(str.split, open("p.weights"))}
    labels = [line.split()[0] for line in open("p.labels")]
    lengths = [interval[1] for interval in quick[1]]
    assert max(quick[2]["strings"]) > lengths[0] / 10
    for point, weight in weights.items():
        own = sum(length for length, label in zip(lengths, labels) if label == point)
        assert abs(weight - own / sum(lengths)) < 1e-6, (point, weight, own, lengths)


def distances():
    """Of drifting.c, whose thread works on 8 KiB and on 8 MiB in turns, by the same code: only --distances tells them apart."""
    def profile(name, *options):
        pathlib.Path("runs").unlink(missing_ok=True)
        run("bbv", "-q", "-i", "100k", "-o", name, *options, "--", GUEST)
        run("simpoint", "-q", "-o", name, name)
        vectors, intervals, rest = read(name) if name.endswith(".bb") else (None, None, None)
        return vectors, intervals, rest, [line.split()[0] for line in open(name + ".labels")]

    plain, told = profile("plain.bb", "--exact-order"), profile("told.bb", "--distances")
    blocks = {n: block.split(" module ")[1] for n, block in enumerate(told[2]["block"], 1)}
    code = [{n: count for n, count in vector.items() if "distances]" not in blocks[n]} for vector in told[0]]
    assert [sorted(v.values()) for v in code] == [sorted(v.values()) for v in plain[0]] and told[1] == plain[1]
    far = []
    for line in open("told.bb"):
        if INTERVAL.match(line):
            far.append([0] * 5)
        elif line.startswith("# far "):
            far[-1] = [int(word) for word in line.split()[2:]]
    assert all(a >= b >= c and d >= e for a, b, c, d, e in far)
    # Where the thread is in one stretch or the other, but for the intervals at their borders.
    kinds = ["far" if f[0] > 5000 else "near" if f[0] < 1000 else "between" for f in far]
    of = {kind: [i for i, k in enumerate(kinds) if k == kind] for kind in ("far", "near", "between")}
    assert min(len(of["far"]), len(of["near"])) > len(kinds) / 3 and len(of["between"]) < len(kinds) / 10, of
    both = lambda labels: {labels[i] for i in of["far"]} & {labels[i] for i in of["near"]}
    assert both(plain[3]) and not both(told[3]), (both(plain[3]), both(told[3]))
    # HDF5 says the same, and weights are calibrated unless they are not to be.
    assert profile("told.h5", "--distances")[3] == told[3]
    weights = lambda name: [float(line.split()[0]) for line in open(name + ".weights")]
    assert weights("told.h5") == weights("told.bb")
    run("simpoint", "-q", "--no-calibration", "-o", "not", "told.bb")
    of_clusters = [sum(interval[1] for interval, label in zip(told[1], told[3]) if label == str(k)) for k in range(len(weights("not")))]
    assert all(abs(w - n / sum(of_clusters)) < 1e-5 for w, n in zip(weights("not"), of_clusters))
    assert weights("told.bb") != weights("not") and abs(sum(weights("told.bb")) - 1) < 1e-4
    # A trace has them, too.
    pathlib.Path("runs").unlink()
    run("pinpoints", "-q", "--config", "l3_1core", "-o", "dir", "-i", "100k", "--record", "--distances", "--", GUEST)
    run("pinpoints", "-q", "--config", "l3_1core", "-o", "dir", "-i", "100k", "--record", "--", GUEST, status=1)


def threads():
    # Long enough that the first does not end, and leave its number to the next, before that is made.
    profile = bbv("a.bb", "--interval", "1M", rounds=10, threads=3)
    consistent(*profile)
    assert profile[2]["threads"] == ["3"]
    of = [int(re.match(r"\d+ thread (\d+)", block)[1]) for block in profile[2]["block"]]
    assert set(of) == {0, 1, 2}
    later = profile[0][len(profile[0]) // 2]
    assert {of[block - 1] for block in later} == {0, 1, 2}, "an interval is of all threads"


def late_threads():
    """What the first thread executed before there was another counts in its markers."""
    for options in ([], ["--exact-order"]):
        bbv("a.bb", "--interval", "300k", *options, rounds=2, threads=-2)
        alone, later = {}, 0  # executions by pc, before the first marker that names a thread
        for line in open("a.bb"):
            match = re.match(r"# interval .* count (\d+) (?:thread (\S+) thread-count (\d+) )?pc (\S+) ", line)
            if match and match[2] is None:
                alone[match[4]] = int(match[1])
            elif match and match[2] == "0" and match[4] in alone:
                later += 1
                assert alone[match[4]] < int(match[3]) <= int(match[1]), line
        assert len(alone) >= 3 and later >= 3, (alone, later)


def waiting_leader():
    """A shell that waits for its children gets on with none of them: intervals that it began are not as long as all of
    them together."""
    for options in ([], ["--exact-order"]):
        run("bbv", "-q", "-o", "a.bb", "--interval", "100k", *options, "--", "/bin/sh", "-c", 11 * '"$0" 1 1; ' + ":", GUEST,
            program_output=11 * "done\n")
        profile = read("a.bb")
        consistent(*profile)
        assert len(profile[1]) > 11
        assert max(interval[1] for interval in profile[1]) < 400_000, profile[1]


def barriers():
    """Of openmp_phases.c an interval from each parallel region to the next, one more where there is a barrier."""
    rounds = 2
    done = run("bbv", "-o", "a.bb", "--interval", "1000", "--intervals", "barrier", "--leave-out", "libgomp*",
               "--", GUEST, rounds)
    vectors, intervals, rest = read("a.bb")
    assert len(intervals) == 1 + rounds * (6 + 6 + 3 * 2), (len(intervals), done.stderr)
    assert rest["threads"] == [os.environ["OMP_NUM_THREADS"]]
    start = intervals[0][1]
    for vector, interval in zip(vectors[1:], intervals[1:]):
        assert interval[0] == start, interval
        start += interval[1]
    assert "no barrier was passed" in run("bbv", "-o", "b.bb", "--intervals", "barrier", "--", "true").stderr and "barrier was" not in done.stderr
    # At the call of a parallel region, in the library that is left out, or behind a barrier, in the program.
    places = [os.path.basename(interval[4]) for interval in intervals[1:]]
    assert {place.split(".")[0] for place in places} == {"libgomp", os.path.basename(GUEST)}, places
    assert sum(place.startswith("libgomp") for place in places) == rounds * (6 + 6 + 3), places
    # The same work in each round. Others may be behind in virtual time, so neighbours share their work differently.
    lengths = [interval[1] for interval in intervals[1:]]
    for first, last in ((0, 6), (6, 12), (12, 18)):
        one, other = sum(lengths[first:last]), sum(lengths[18 + first:18 + last])
        assert abs(one - other) < 0.3 * one, (first, one, other)
    assert abs(sum(lengths[:18]) - sum(lengths[18:])) < 0.03 * sum(lengths), lengths
    assert os.path.getsize("a.bb") > 0 and "left out" in done.stderr


def cut_off():
    """What a process did since its last report when a signal ended it is in no vector, and that is what is said of it."""
    loop = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; kill -9 $$"
    said = run("bbv", "-o", "a.bb", "--interval", "1M", "--", "/bin/sh", "-c", loop, status=-9, program_output="").stderr
    vectors, intervals, rest = read("a.bb")
    consistent(vectors, intervals, rest)
    assert f"({rest['left-out'][0]} of them in no vector: the end of a process cut them off)" in said, said
    assert 0 < int(rest["left-out"][0]) < 1_000_000


def executed():
    """What a process did before it executes another program is counted as everything is."""
    loop = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; "
    for command in (("env", "true"), ("/bin/sh", "-c", loop + "exec true"), ("/bin/sh", "-c", loop + "/bin/echo 1; env true")):
        totals = []
        for options in ((), ("--exact-order",)):
            run("bbv", "-q", "-o", "a.bb", "--interval", "1M", *options, "--", *command)
            vectors, intervals, rest = read("a.bb")
            consistent(vectors, intervals, rest)
            assert rest["left-out"] == ["0"], (command, options, rest["left-out"])
            totals.append(int(rest["instructions"][0]))
        assert abs(totals[0] - totals[1]) < 2000, (command, totals)   # process ids have more digits or less
    run("bbv", "-q", "-o", "a.bb", "--interval", "100k", "--", "/bin/sh", "-c", loop + "exec ls /")
    assert {length for _, length, *_ in read("a.bb")[1][:-1]} == {100_000}, "an interval goes on behind an exec"


def come_and_go():
    """Work is the same whichever thread, or process of the same program, does it: the next that comes takes the number of one that has ended."""
    def threads_of(*words):
        run("bbv", "-q", "-o", "a.bb", "--interval", "50k", "--", *words)
        profile = read("a.bb")
        consistent(*profile)
        run("simpoint", "-q", "-o", "p", "a.bb")
        labels = [int(line.split()[0]) for line in open("p.labels")]
        phases = {label for label in labels if labels.count(label) > len(labels) // 20}
        # Three, or some of them twice: where one has not ended in virtual time when the next one starts, that has another number.
        are_few = 3 <= len(phases) <= 6 and sum(label in phases for label in labels) > 0.75 * len(labels)
        return are_few, {int(re.match(r"\d+ thread (\d+)", block)[1]) for block in profile[2]["block"]}
    runs = [threads_of(GUEST, "stay") for _ in range(5)]
    assert {0, 1, 2} == set.union(*(threads for _, threads in runs)), runs
    assert any(few for few, _ in runs), runs   # a full host may have two threads work one after the other
    for words, most in ((GUEST, "come"), 5), (("/bin/sh", "-c", 4 * '"$0" one 0; "$0" one 1; "$0" one 2; ', GUEST), 4):
        runs = [threads_of(*words) for _ in range(5)]
        assert any(few and len(threads) <= most for few, threads in runs), runs


def waits():
    """What a thread does before it makes others and waits for them is in the first interval, not in the one that ends when it has waited."""
    for words in (), ("process",):
        run("bbv", "-q", "-o", "a.bb", "--interval", "5M", "--", GUEST, *words)
        vectors, intervals, rest = read("a.bb")
        consistent(vectors, intervals, rest)
        assert len(vectors) > 2, words
        own = {number for number, block in enumerate(rest["block"], 1) if int(re.match(r"\d+ thread (\d+)", block)[1]) == 0}
        of_first = [sum(count for block, count in vector.items() if block in own) for vector in vectors]
        assert of_first[0] > 2_400_000 and sum(of_first[1:]) < 700_000, (words, of_first)


def faults():
    """An interval ends at one instruction where a fault has cut its path, too (GUEST: faults.c)."""
    profiles = []
    for options in ((), ("--exact-order",)):
        run("bbv", "-q", "-o", "a.bb", "--interval", 1007, *options, "--", GUEST, program_output="done\n")
        vectors, intervals, rest = read("a.bb")
        consistent(vectors, intervals, rest)
        assert {length for _, length, *_ in intervals[:-1]} == {1007}, options
        profiles.append(intervals)
    counted, exact = profiles
    assert len(counted) == len(exact) > 100
    # Where an interval ends right before a fault, one says what was to come, the other what came: the handler. A handler's return is
    # not the place behind the system call.
    different = {(c[3], e[3]) for c, e in zip(counted, exact) if c != e}
    assert len(different) <= 1, different


def left_out():
    total = instructions(rounds=1)
    program = pathlib.Path(GUEST).name
    all_of_it = ("--leave-out", program, "--leave-out", "[[]vdso]")
    message = run("bbv", "-o", "a.bb", *all_of_it, "--", GUEST, 1, status=1).stderr
    assert "no vectors" in message, message
    assert not os.path.exists("a.bb")
    profile = bbv("a.bb", "--leave-out", "no such*", rounds=1)
    assert profile[2]["left-out"] == ["0"] and int(profile[2]["instructions"][0]) == total
    nothing = run("bbv", "-q", "-o", "a.bb", "--leave-out", "no such*", "--", GUEST, 1).stderr
    assert "no such*" in nothing and "no such code was executed" in nothing, nothing
    # A function, by its name and by its addresses.
    by_name = bbv("a.bb", "--leave-out", f"{program}:mi?", rounds=1)
    consistent(*by_name)
    assert 5 * 200000 * 3 <= int(by_name[2]["left-out"][0]) < 5 * 200000 * 6, by_name[2]["left-out"]
    symbols = subprocess.run(["nm", "-S", GUEST], capture_output=True, text=True, check=True).stdout
    start, size = (int(word, 16) for word in re.search(r"^(\S+) (\S+) t mix$", symbols, re.M).groups())
    assert bbv("a.bb", "--leave-out", f"{program}:{start:#x}-{start + size:#x}", rounds=1) == by_name
    for wrong in (f"{program}:", ":mix", f"{program}:0x20-0x10", f"{program}:0x20", f"{program}:0x-0x1"):
        message = run("bbv", "-q", "-o", "a.bb", "--leave-out", wrong, "--", GUEST, 1, status=2).stderr
        assert f"'{wrong}'" in message, message


def simpoint_files():
    profile = bbv("a.bb", "--interval", "100k", rounds=4)
    out = run("simpoint", "a.bb", "-o", "p", "--coverage", "0.6").stdout
    points = [tuple(map(int, line.split())) for line in open("p.simpoints")]
    weights = [line.split() for line in open("p.weights")]
    labels = [line.split() for line in open("p.labels")]
    assert [c for _, c in points] == [int(c) for _, c in weights] == sorted(c for _, c in points)
    assert abs(sum(float(w) for w, _ in weights) - 1) < 1e-4
    assert len(labels) == len(profile[0])
    for interval, cluster in points:
        assert int(labels[interval][0]) == cluster
        assert float(labels[interval][1]) <= min(float(d) for c, d in labels if int(c) == cluster) + 1e-6
    # The start, mix, stride and chase; what lies between weighs next to nothing.
    assert sum(sorted(float(w) for w, _ in weights)[-4:]) > 0.95, out
    assert len(open("p.simpoints.lpt0.6").readlines()) < len(points)
    assert abs(sum(float(line.split()[0]) for line in open("p.weights.lpt0.6")) - 1) < 1e-4


def simpoint_options():
    bbv("a.bb", "--interval", "100k")
    ours = run("simpoint", "a.bb", "--max-k", 7, "--save-simpoints", "s1", "--save-weights", "w1",
               "--save-labels", "l1", "--init-km", "samp", "--seed-km", 5, "--seed-proj", 6, "--num-init-seeds", 3,
               "--iters", 50, "--dimensions", 10, "--fixed-length", "on")
    theirs = run("simpoint", "-loadFVFile", "a.bb", "-maxK", 7, "-saveSimpoints", "s2", "-saveSimpointWeights", "w2",
                 "-saveLabels", "l2", "-initkm", "samp", "-seedkm", 5, "-seedproj", 6, "-numInitSeeds", 3, "-iters", 50,
                 "-dim", 10, "-verbose", 1, "-fixedLength", "on", "-k", "search")
    assert ours.stdout == theirs.stdout
    for kind in "swl":
        assert open(kind + "1").read() == open(kind + "2").read()
    assert "\n     4 " in run("simpoint", "a.bb", "-k", "2:2:6").stdout
    assert run("simpoint", "a.bb", "-dim", "noProject").stdout
    single = run("simpoint", "-q", "-k", "1", "-o", "one", "a.bb")
    assert len(open("one.simpoints").readlines()) == 1 and single.stdout == ""


def simpoint_weights():
    """Intervals weigh what they are long, as pinpoints has it; the last of a program may be short."""
    def text(kind, threads):
        place = "count 1 pc 0x1000 offset 0x0 module /bin/app"
        lengths = (700, 100, 100, 100)
        lines = ["# simrun basic-block vectors, version 1"]
        for number, length in enumerate(lengths):
            lines.append(f"# interval {number} start {sum(lengths[:number])} length {length} {place}")
            lines.append(f"T:{1 if number == 0 else 2}:{length} ")
        return "\n".join([*lines, f"# kind {kind}", f"# threads {threads}", "# instructions 1000", ""])
    by_length, equal = {0.7, 0.3}, {0.25, 0.75}
    for kind, threads, words, expected in (("fixed", 1, (), by_length), ("fixed", 2, (), by_length), ("loop", 1, (), by_length),
                                           ("barrier", 4, (), by_length),
                                           ("fixed", 1, ("--fixed-length", "on"), equal),
                                           ("fixed", 2, ("--fixed-length", "on"), equal),
                                           ("fixed", 2, ("--fixed-length", "auto"), by_length),
                                           ("fixed", 1, ("--fixed-length", "off"), by_length)):
        pathlib.Path("a.bb").write_text(text(kind, threads))
        run("simpoint", "-q", "a.bb", "-k", 2, "-o", "p", *words)
        assert {float(line.split()[0]) for line in open("p.weights")} == expected, (kind, threads, words)
    # Of another tool's profile nothing is known: as SimPoint does.
    pathlib.Path("a.bb").write_text("T:1:700 \n" + 3 * "T:2:100 \n")
    run("simpoint", "-q", "a.bb", "-k", 2, "-o", "p")
    assert {float(line.split()[0]) for line in open("p.weights")} == equal


def simpoint_saved():
    """What one run saves and another loads gives the same answer, to the bit."""
    bbv("a.bb", "--interval", "100k", "--intervals", "loop", rounds=4)
    def answer(*words, prefix="again", status=0):
        done = run("simpoint", *words, "-o", prefix, status=status)
        files = {kind: open(f"{prefix}.{kind}").read() for kind in ("simpoints", "weights", "labels")}
        return files, [line for line in done.stdout.splitlines() if "<- chosen" in line]
    save = ("-saveVectorWeights", "vw", "-saveInitCtrs", "ic", "-saveFinalCtrs", "fc", "-saveVectorsTxtFmt", "v.txt",
            "-saveVectorsBinFmt", "v.bin", "-saveProjMatrixTxtFmt", "m.txt", "-saveProjMatrixBinFmt", "m.bin")
    first = answer("a.bb", "-fixedLength", "off", *save, prefix="first")
    assert answer("-loadVectorsTxtFmt", "v.txt", "-fixedLength", "off") == first
    assert answer("-loadVectorsBinFmt", "v.bin", "-fixedLength", "off") == first
    assert answer("-loadVectorsBinFmt", "v.bin", "-loadVectorWeights", "vw") == first
    assert answer("a.bb", "-loadVectorWeights", "vw") == first
    variable = ("a.bb", "-fixedLength", "off")
    for form in ("Txt", "Bin"):
        assert answer(*variable, f"-loadProjMatrix{form}Fmt", f"m.{form.lower()}", "-dim", 15) == first
    assert answer(*variable, "-loadInitCtrs", "ic", "-saveFinalCtrs", "fc2", "-iters", "off") == first
    assert open("fc2").read() == open("fc").read()
    # From the labels k-means begins where it ended, and stays; clusters are numbered as they come.
    intervals = lambda files: sorted(line.split()[0] for line in files["simpoints"].splitlines())
    labelled, _ = answer("a.bb", "-fixedLength", "off", "-loadInitLabels", "first.labels")
    assert intervals(labelled) == intervals(first[0])
    assert labelled["labels"].startswith("0 ")
    rows = open("fc").read().splitlines()
    assert rows[0] == f"{len(rows) - 1}:w" and abs(sum(float(row.split()[0]) for row in rows[1:]) - 1) < 1e-9
    vectors = sum(line.startswith("T") for line in open("a.bb"))
    blocks = max(int(block) for line in open("a.bb") if line.startswith("T") for block in re.findall(r":(\d+):", line))
    assert answer("a.bb", "-fixedLength", "off", "-numFVs", vectors, "-FVDim", blocks) == first
    # Each k, named as SimPoint names it.
    run("simpoint", "-q", "a.bb", "-k", "6:-2:2,3", "-saveAll", "-saveSimpoints", "s", "-saveSimpointWeights", "w",
        "-saveLabels", "l", "-saveInitCtrs", "i", "-saveFinalCtrs", "f", "-coveragePct", 0.5)
    tried = ((1, 6), (2, 4), (3, 2), (4, 3))
    names = {f"{name}.run_{r}_k_{k}" for name in ("s", "w", "l", "i", "f", "s.lpt0.5", "w.lpt0.5") for r, k in tried}
    assert {name for name in os.listdir() if ".run_" in name} == names, os.listdir()
    for r, k in tried:
        run("simpoint", "-q", "a.bb", "-k", k, "-saveSimpoints", "one", "-saveFinalCtrs", "one.f")
        assert open("one").read() == open(f"s.run_{r}_k_{k}").read() and len(open("one").readlines()) == k
        assert open("one.f").read() == open(f"f.run_{r}_k_{k}").read()
    # Another seed of the sample, another draw.
    draws = {run("simpoint", "a.bb", "-sampleSize", 20, "-seedsample", seed, "-k", 4).stdout for seed in (1, 2, 1)}
    assert len(draws) == 2


def simpoint_contradictions():
    open("a.bb", "w").write("T:1:2 :2:2 \nT:2:5 \nT:1:9 \n")
    run("simpoint", "-q", "a.bb", "-k", 2, "-saveVectorsTxtFmt", "v", "-saveInitCtrs", "c",
        "-saveProjMatrixTxtFmt", "m", "-saveVectorWeights", "w", "-saveLabels", "l")
    for expected, *words in (("is required",), ("is required", "a.bb", "-loadVectorsTxtFmt", "v", "-fixedLength", "on"),
                             ("--fixed-length on or off", "-loadVectorsTxtFmt", "v"),
                             ("--fixed-length on or off", "-loadVectorsTxtFmt", "v", "-fixedLength", "auto"),
                             ("--dimensions is for", "-loadVectorsTxtFmt", "v", "-fixedLength", "on", "-dim", 3),
                             ("--max-k does not go", "a.bb", "-loadInitCtrs", "c", "-maxK", 3),
                             ("not both", "a.bb", "-loadInitCtrs", "c", "-loadInitLabels", "l"),
                             ("not two", "a.bb", "-loadProjMatrixTxtFmt", "m", "-loadProjMatrixBinFmt", "m"),
                             ("--seed-proj", "a.bb", "-loadProjMatrixTxtFmt", "m", "-seedproj", 3),
                             ("all weights the same", "a.bb", "-loadVectorWeights", "w", "-fixedLength", "on"),
                             ("--sample-size", "a.bb", "-seedsample", 3), ("nothing to write", "-q", "a.bb")):
        done = run("simpoint", *words, status=2)
        assert expected in done.stderr, (words, done.stderr)
    for options in (("-saveLabels", "a.bb"), ("-saveLabels", "./x", "-saveSimpointWeights", "x"), ("-saveFinalCtrs", "x", "-saveSimpoints", "x"),
                    ("-loadVectorWeights", "w", "-saveVectorWeights", "w")):
        before = sorted((name, open(name).read()) for name in os.listdir())
        done = run("simpoint", "-q", "a.bb", *options, status=2)
        assert "are the same file" in done.stderr and sorted((name, open(name).read()) for name in os.listdir()) == before, (options, done.stderr)
    open("two", "w").write("1\n1\n")
    for expected, *words in (("3 intervals, not 4", "-numFVs", 4, "-FVDim", 2), ("block 2, above 1", "-FVDim", 1),
                             ("has 15 dimensions, not 7", "-loadProjMatrixTxtFmt", "m", "-dim", 7),
                             ("2 weights for 3", "-loadVectorWeights", "two"),
                             ("2 labels for 3", "-loadInitLabels", "two"),
                             ("first centres have 15", "-loadInitCtrs", "c", "-dim", 7),
                             ("no matrix in SimPoint's binary form", "-loadProjMatrixBinFmt", "m")):
        done = run("simpoint", "a.bb", *words, status=1)
        assert expected in done.stderr, (words, done.stderr)


def kept():
    """Profiles of real programs (kept/README.md): the choice is today what it was then, with any number of threads, and
    much the same with other seeds."""
    folder = pathlib.Path(__file__).resolve().parent / "kept"
    profiles = sorted(folder.glob("*.bb.gz"))
    assert len(profiles) == 3
    for profile in profiles:
        name = profile.name.split(".")[0]
        expected = {kind: (folder / f"{name}.{kind}").read_text() for kind in ("simpoints", "weights")}
        for threads in ("1", "3"):
            os.environ["OMP_NUM_THREADS"] = threads
            run("simpoint", "-q", profile, "-o", "p")
            for kind, text in expected.items():
                assert open(f"p.{kind}").read() == text, (name, kind, threads)
        phases = len(expected["weights"].splitlines())
        for seed in (1, 2, 3):
            run("simpoint", "-q", profile, "-o", "s", "--seed-km", seed, "--seed-proj", seed + 10)
            others = len(open("s.weights").readlines())
            assert abs(others - phases) <= 0.2 * phases, (name, seed, others, phases)


def errors():
    def message(*words, status=1):
        text = run(*words, status=status).stderr
        assert text.startswith("simrun: "), text
        return text
    assert "is required" in message("bbv", "--", "true", status=2)
    assert "no number of instructions" in message("bbv", "-o", "a", "--interval", "ten", "--", "true", status=2)
    message("bbv", "-o", "a", "--interval", "5", "--", "true", status=2)
    assert "no program" in message("bbv", "-o", "a", status=2)
    assert "cannot write" in message("bbv", "-o", "no/a.bb", "--", "true")
    assert "cannot write no/a.h5: No such" in message("bbv", "-o", "no/a.h5", "--", "true")
    message("bbv", "-q", "-o", "a.bb", "--", "/no/such/program", status=127)
    for name in ("x.bb.xz", "x.bb.bz2", "x.csv", "x.bb.json"):
        assert f"{name}: " in message("bbv", "-q", "-o", name, "--", "true", status=2), name
    assert "signal 9 ended the program within its first interval" in message("bbv", "-q", "-o", "a.bb", "--", "sh", "-c", "kill -9 $$")
    assert not os.listdir()
    for name, text, expected in (("empty.bb", "", "no frequency vector"),
                                 ("bad.bb", "T:1:2 \nT:1 \n", "bad.bb:2: column 4"),
                                 ("zero.bb", "T:1:0 \n", "zero.bb:1: interval 0: the sum"),
                                 ("nan.bb", "T:1:2 \nT:1:nan :2:1 \n", "nan.bb:2: column 5: the count nan makes no"),
                                 ("infinite.bb", "T:1:inf \n", "infinite.bb:1: column 5: the count inf makes no sense"),
                                 ("huge.bb", "T:1:1e305 \n", "huge.bb:1: column 5: the count 1e+305 makes no sense"),
                                 ("negative.bb", "T:1:-3 \n", "negative.bb:1: column 5: the count -3 makes no sense")):
        open(name, "w").write(text)
        assert expected in message("simpoint", name)
    assert "No such file" in message("simpoint", "none.bb")
    open("one.bb", "w").write("T:1:2 \n")
    assert "one interval" in run("simpoint", "one.bb").stderr
    for option in ("--max-k", "--iters", "--num-init-seeds"):
        assert f"{option}: 0 is not from 1 to 4294967295" in message("simpoint", "one.bb", option, 0, status=2)
    assert "expected search" in message("simpoint", "one.bb", "-k", "5:x", status=2)
    assert run("bbv", "-q", "-o", "f.bb", "--", "false", status=1).stderr == ""


if __name__ == "__main__":
    case, SIMRUN, GUEST = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="simrun-phases-") as folder:
        os.chdir(folder)
        globals()[case]()
    print("passed")
