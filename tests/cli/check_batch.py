#!/usr/bin/env python3
"""check_batch.py SIMRUN: `simrun batch`: what it keeps, runs again, refuses, and leaves behind when it is interrupted."""
import csv
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

simrun = sys.argv[1]
folder = tempfile.mkdtemp()
os.chdir(folder)
for name, size in (("small", "64KiB"), ("large", "1MiB"), ("run", "1MiB"), (".", "1MiB")):
    with open(f"{name}.yaml", "w") as file:
        file.write(f"cores: 1\nlevels:\n- {{name: L1, instruction: {{size: 32KiB, ways: 8}}, data: {{size: 32KiB, ways: 8}}}}\n"
                   f"- {{name: L2, size: {size}, ways: 8}}\n")
MACHINES = ("-c", "./small.yaml", "-c", "./large.yaml")


def suite(name, programs, rest=""):
    with open(name, "w") as file:
        file.write(rest + "programs:\n" + "".join(f"- {program}\n" for program in programs))
    return name


def batch(*words, status=0):
    result = subprocess.run([simrun, "batch", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert result.returncode == status, result
    return result


def read(path):
    with open(path) as file:
        return json.load(file)


def states(*words):
    return {name: state for name, state in re.findall(r"(?m)^ *\d+  (\S+) +(done|changed|failed|running|to do)", batch(words[0], "--list", *words[1:]).stdout)}


def none_left(word):
    """No process with this word in its command line; they have a while to end."""
    end = time.monotonic() + 30
    while True:
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid() and word in command_of(pid)]
        if not left:
            return
        assert time.monotonic() < end, left
        time.sleep(0.05)


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def wait_until(what):
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


# What is in a job's folder, and that it is what simrun says by itself.
with open("words.txt", "w") as file:
    file.write("".join(f"{i * 7919 % 10007}\n" for i in range(5000)))
# What it does by itself goes by the memory that the host has left.
SORT = ["sort", "-n", "-S", "1M"]
both = suite("both.yaml", [f"{{name: sort, command: [{', '.join(SORT)}], input: words.txt}}",
                           "{name: cat, command: [cat, words.txt], files: [words.txt], output: discard}",
                           "{name: env, command: [sh, -c, 'echo $A $B; pwd > here; exit 3'], environment: {B: 2}, status: 3}"],
             "name: first\nenvironment: {A: 1, B: 1, LC_ALL: C}\n")
said = batch(both, "-o", "out", *MACHINES)
assert "[6/6]" in said.stderr and "batch first: 6 of 6 done" in said.stderr, said
known = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
for machine in ("small", "large"):
    with open("words.txt") as words, open("alone.out", "w") as output:
        subprocess.run([simrun, "-q", "-c", f"./{machine}.yaml", "--json", "alone.json", "--", *SORT], stdin=words,
                       stdout=output, check=True, env={**known, "A": "1", "B": "1", "LC_ALL": "C"})
    alone, one = read("alone.json"), read(f"out/sort/{machine}/run/result.json")
    assert one["command"] == SORT and one["exit_status"] == 0 and one["configuration"]["name"] == machine
    assert {**alone["totals"], "stalls": 0} == {**one["totals"], "stalls": 0} and alone["levels"] == one["levels"], (alone["totals"], one["totals"])
    with open(f"out/sort/{machine}/run/stdout") as file:
        assert [int(line) for line in file] == sorted(i * 7919 % 10007 for i in range(5000))
    assert not os.path.exists(f"out/cat/{machine}/run/stdout") and os.path.exists(f"out/sort/{machine}/run/stdout")
    assert os.path.islink(os.path.join("out", "cat", machine, "run", "work", "words.txt"))
    with open(f"out/env/{machine}/run/stdout") as file:
        assert file.read() == "1 2\n"
    with open(os.path.join("out", "env", machine, "run", "work", "here")) as file:
        assert file.read() == f"{folder}/out/env/{machine}/run.new/work\n"
    with open(f"out/env/{machine}/run/result.html") as file:
        assert "sh -c echo $A $B" in file.read()
    record = read(f"out/env/{machine}/run/job.json")
    assert record["exit_status"] == 3 and record["error"] is None and record["definition"]["machine"]["name"] == machine, record

# The environment is the suite's, and a few of the caller's: counts are the same from whatever shell.
few = suite("environment.yaml", ["{name: env, command: [env], environment: {B: 2}, inherit: [C, D]}"], "environment: {A: 1, B: 1}\n")
os.environ.update(C="3", E="5" * 1000)
os.environ.pop("D", None)
batch(few, "-o", "environment", "-c", "l3_1core")
with open("environment/env/l3_1core/run/stdout") as file:
    seen = dict(line.rstrip("\n").split("=", 1) for line in file)
assert seen == {**known, "A": "1", "B": "2", "C": "3"}, seen
os.environ["E"] = "5" * 3000
batch(few, "-o", "environment 2", "-c", "l3_1core")
one, other = (read(f"environment{n}/env/l3_1core/run/result.json")["totals"] for n in ("", " 2"))
assert {**one, "stalls": 0} == {**other, "stalls": 0}, (one, other)
os.environ["C"] = "4"
assert states(few, "-o", "environment", "-c", "l3_1core") == {"env/l3_1core": "changed"}

# The table and the CSV say what the results say.
with open("out/run.csv") as file:
    rows = list(csv.DictReader(file))
assert [(row["program"], row["machine"]) for row in rows] == [(p, m) for p in ("sort", "cat", "env") for m in ("small", "large")]
for row in rows:
    result = read(f"out/{row['program']}/{row['machine']}/run/result.json")
    assert int(row["instructions"]) == result["totals"]["instructions"]
    assert int(row["memory_reads"]) == result["memory"]["reads"]
    for level in result["levels"]:
        assert int(row[level["name"] + "_misses"]) == level["misses"] and float(row[level["name"] + "_mpki"]) == level["mpki"]
    assert abs(float(row["cpi"]) - result["cores"][0]["cpi"]) < 1e-9
line = next(line for line in said.stdout.splitlines() if line.startswith("   sort"))
assert f"{int(rows[0]['instructions']):,}" in line and f"{float(rows[0]['L2_mpki']):.3f}" in line, line
table = batch(both, "-o", "out", *MACHINES, "--table")
assert table.stdout == said.stdout and table.stderr == "", table

with open("out/run.csv") as file:
    assert len(list(csv.DictReader(file))) == 6
assert batch(both, "-o", "out", *MACHINES, "--only", "cat/*l").stdout.count("\n   cat ") == 1
with open("out/run.csv") as file:
    assert len(list(csv.DictReader(file))) == 6  # of all, whatever the call is about

# A second call has nothing to do; one machine changed, only that is run again; what fails then leaves the old results.
before = {name: os.stat(f"out/sort/{name}/run/result.json").st_mtime_ns for name in ("small", "large")}
again = batch(both, "-o", "out", *MACHINES)
assert "[" not in again.stderr and again.stdout == said.stdout, again
with open("small.yaml", "a") as file:
    file.write("memory: {latency: 99}\n")
assert states(both, "-o", "out", *MACHINES) == {f"{p}/{m}": s for p in ("sort", "cat", "env") for m, s in (("small", "changed"), ("large", "done"))}
changed = batch(both, "-o", "out", *MACHINES, "--only", "sort")
assert "sort/small was done before with something else (machine)" in changed.stderr and "sort/large" not in changed.stderr, changed
assert changed.stdout.count("\n   sort ") == 2 and "   cat" not in changed.stdout, changed
assert os.stat("out/sort/large/run/result.json").st_mtime_ns == before["large"]
assert os.stat("out/sort/small/run/result.json").st_mtime_ns != before["small"]
suite("both.yaml", ["{name: sort, command: [sort, --no-such], input: words.txt}"])
failed = batch("both.yaml", "-o", "out", *MACHINES, status=1)
assert failed.stderr.count("FAILED, exit status 2 (") == 2 and set(states("both.yaml", "-o", "out", *MACHINES).values()) == {"failed"} and "0 of 2 done, 2 failed" in failed.stderr, failed
assert read("out/sort/large/run/result.json")["command"] == SORT
with open("out/sort/large/run.failed/stderr") as file:
    assert "unrecognized option" in file.read()

# What fails, why, and that it is run again; in quiet, too.
several = suite("several.yaml", ["{name: good, command: ['true']}", "{name: bad, command: [sh, -c, 'exit 7']}",
                                 "{name: killed, command: [sh, -c, 'kill -9 $$']}", "{name: gone, command: [no-such-program]}",
                                 "{name: slow, command: [sleep, '4711'], time_limit: 1s}"])
for _ in range(2):
    said = batch(several, "-o", "several", "-c", "l3_1core", "-q", status=1)
    assert said.stdout == "" and "good" not in said.stderr, said
    for text in ("bad/l3_1core: FAILED, exit status 7 (", "killed/l3_1core: FAILED, ended by signal 9 (Killed)", "gone/l3_1core: FAILED, exit status 127: ",
                 "slow/l3_1core: FAILED, took longer than 1.0 s", "1 of 5 done, 4 failed"):
        assert text in said.stderr, (text, said)
none_left("4711")
listed = batch(several, "-o", "several", "-c", "l3_1core", "--list").stdout
assert "2  bad/l3_1core     failed: exit status 7\n" in listed and "1  good/l3_1core    done\n" in listed, listed

# Interrupted: what was done stays, all that ran is ended, the next call goes on. Of SIGKILL only the programs themselves hear.
for number, ending in ((signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)):
    run = "exec sleep 4712" if number == signal.SIGKILL else "sleep 4712; true"
    slow = suite("slow.yaml", ["{name: quick, command: ['true']}", f"{{name: slow, command: [sh, -c, 'test -e ../../../../go || {run}']}}"])
    out = f"interrupted{int(number)}"
    process = subprocess.Popen([simrun, "batch", slow, "-o", out, "-c", "l3_1core", "-j", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    wait_until(lambda: any("sleep\x004712" in command_of(pid) for pid in os.listdir("/proc") if pid.isdigit()))
    process.send_signal(number)
    text = process.communicate(timeout=60)[1]
    assert process.returncode == ending, (process.returncode, text)
    assert "[1/2] quick/l3_1core" in text and ("the same call goes on" in text) == (number != signal.SIGKILL), text
    none_left("4712")
    assert states(slow, "-o", out, "-c", "l3_1core") == {"quick/l3_1core": "done", "slow/l3_1core": "to do"}
    open(f"{out}/go", "w").close()
    assert "[2/2] slow/l3_1core" in batch(slow, "-o", out, "-c", "l3_1core").stderr

# Several calls at once: each job is run by one of them.
many = suite("many.yaml", [f"{{name: p{i}, command: [sh, -c, 'echo {i} >> {folder}/ran; sleep 0.2']}}" for i in range(8)])
calls = [subprocess.Popen([simrun, "batch", many, "-o", "many", "-c", "l3_1core", "-j", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(3)]
for call in calls:
    call.communicate(timeout=120)
    assert call.returncode == 0
with open("ran") as file:
    assert sorted(int(line) for line in file) == list(range(8))
assert set(states(many, "-o", "many", "-c", "l3_1core").values()) == {"done"}

# As Slurm runs them: a task for each job that is not done.
few = suite("few.yaml", [f"{{name: p{i}, command: [sh, -c, 'exit {i % 2}']}}" for i in range(5)], "time_limit: 90s\nmachines: [l3_1core]\n")
assert "#SBATCH --array=1-5\n" in batch(few, "-o", "fe w", "--slurm").stdout and os.path.isdir("fe w")  # where the log goes
batch(few, "-o", "fe w", "--job", "3", "--", "--quantum", "500")
script = batch(few, "-o", "fe w", "--slurm", "--", "--quantum", "500").stdout
assert "#SBATCH --array=1-2,4-5\n" in script and "#SBATCH --time=3\n" in script and "#SBATCH --job-name=simrun-few\n" in script, script
with open("job.sh", "w") as file:
    file.write(script)
for number in range(1, 6):
    status = subprocess.run(["sh", f"{folder}/job.sh"], env={**os.environ, "SLURM_ARRAY_TASK_ID": str(number)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/").returncode
    assert status == (2 if number == 3 else (number - 1) % 2), number  # the third was done before
assert states(few, "-o", "fe w", "--", "--quantum", "500") == {f"p{i}/l3_1core": "failed" if i % 2 else "done" for i in range(5)}
assert states(few, "-o", "fe w") == {f"p{i}/l3_1core": "failed" if i % 2 else "changed" for i in range(5)}

# Numbers of a suite that has changed since are others' now: the script has names.
suite("few.yaml", ["{name: first, command: ['true']}"] + [f"{{name: p{i}, command: [sh, -c, 'exit {i % 2}']}}" for i in range(5)], "time_limit: 90s\nmachines: [l3_1core]\n")
subprocess.run(["sh", f"{folder}/job.sh"], env={**os.environ, "SLURM_ARRAY_TASK_ID": "1"}, stderr=subprocess.DEVNULL, check=True)
assert states(few, "-o", "fe w", "--", "--quantum", "500")["first/l3_1core"] == "to do"
text = batch(few, "-o", "50%", "-c", "./small.yaml", "--slurm").stdout
assert f"--config {folder}/./small.yaml" in text and "50%%/slurm-%a.log" in text, text
batch(few, "-o", "new\nline", "--slurm", status=1)

# What a result depends on, and is another then.
os.makedirs("tree/of")
os.makedirs("tools")
for name, text in (("tree/of/file", "1"), ("tools/mytool", "#!/bin/sh\necho one\n"), ("edited.yaml", open("large.yaml").read()), ("own", "1")):
    with open(name, "w") as file:
        file.write(text)
os.chmod("tools/mytool", 0o755)
PATH = f"{folder}/tools:{os.environ['PATH']}"
depends = suite("depends.yaml", [f"{{name: edits, command: [sh, -c, 'sed -i s/1MiB/2MiB/ {folder}/edited.yaml']}}", "{name: then, command: ['true']}",
                                 "{name: tree, command: [ls, tree], files: [tree]}", f"{{name: path, command: [mytool], environment: {{PATH: '{PATH}'}}}}"])
batch(depends, "-o", "depends", "-c", "./edited.yaml", "-j", "1")
for name in ("edits", "then"):
    assert read(f"depends/{name}/edited/run/result.json")["configuration"]["levels"][1]["size"] == 1 << 20, name
assert set(states(depends, "-o", "depends", "-c", "./edited.yaml").values()) == {"changed"}
with open("edited.yaml", "w") as file:
    file.write(open("large.yaml").read())
assert set(states(depends, "-o", "depends", "-c", "./edited.yaml").values()) == {"done"}
for name, text in (("tree/of/file", "22"), ("tools/mytool", "#!/bin/sh\necho two\n#\n")):
    with open(name, "w") as file:
        file.write(text)
assert {name.split("/")[0] for name, state in states(depends, "-o", "depends", "-c", "./edited.yaml").items() if state == "changed"} == {"tree", "path"}
batch(depends, "-o", "depends", "-c", "./edited.yaml", "-j", "1", "--only", "tree")
before = os.stat("tree/of/file")
os.rename("tree/of/file", "tree/of/another")   # nothing of it is another but the name
assert os.stat("tree/of/another").st_mtime_ns == before.st_mtime_ns
assert states(depends, "-o", "depends", "-c", "./edited.yaml")["tree/edited"] == "changed"
own = suite("own.yaml", ["{name: own, command: [sh, -c, 'sleep 0.1; echo >> %s/own'], input: own}" % folder])
assert f"own/l3_1core: FAILED, changed while it ran: {folder}/own" in batch(own, "-o", "own results", "-c", "l3_1core", status=1).stderr

# One that cannot be run, or written, or read, does not keep the others from it; nor does a reader who has gone.
others = suite("others.yaml", ["{name: bad, command: ['true']}", "{name: cut, command: [sh, -c, 'rm -rf ../../run.new']}", "{name: good, command: ['true']}",
                               "{name: locked, command: [sh, -c, 'mkdir c; touch c/f; chmod a-w c; exit 1']}"])
os.makedirs("others")
open("others/bad", "w").close()
for _ in range(2):
    said = batch(others, "-o", "others", "-c", "l3_1core", status=1)
    assert "bad/l3_1core: FAILED, " in said.stderr and "cut/l3_1core: FAILED, " in said.stderr and "1 of 4 done, 3 failed" in said.stderr, said
call = subprocess.Popen([simrun, "batch", several, "-o", "no reader", "-c", "l3_1core"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
call.stderr.close()
assert call.wait(timeout=60) == 1
assert sorted(states(several, "-o", "no reader", "-c", "l3_1core").values()) == ["done"] + ["failed"] * 4
open("others/good/l3_1core/run/result.json", "w").close()
said = batch(others, "-o", "others", "-c", "l3_1core", "--table")
assert "good/l3_1core/run/result.json: these are no results" in said.stderr and "--only good/l3_1core --restart" in said.stderr, said
os.remove("others/good/l3_1core/run/result.json")
assert states(others, "-o", "others", "-c", "l3_1core")["good/l3_1core"] == "to do"

# Limits are the caller's; of a job's session nothing is left, whatever its group; what ran in the background when it ended neither.
left = suite("left.yaml", ["{name: limits, command: [sh, -c, 'ulimit -Sn']}", "{name: group, command: [bash, -c, 'set -m; sleep 4713 & wait'], time_limit: 1s}",
                           "{name: behind, command: [sh, -c, 'sleep 4714 & exit 0']}"])
batch(left, "-o", "left", "-c", "l3_1core", status=1)
none_left("4713")
none_left("4714")
with open("left/limits/l3_1core/run/stdout") as file:
    assert int(file.read()) == resource.getrlimit(resource.RLIMIT_NOFILE)[0]

# Killed, and what it ran lives on for a while: no other call runs it meanwhile.
stubborn = suite("stubborn.yaml", [f"{{name: s, command: [sh, -c, 'trap : TERM; echo start >> {folder}/log; sleep 2; sleep 2; echo end >> {folder}/log']}}"])
call = subprocess.Popen([simrun, "batch", stubborn, "-o", "stubborn", "-c", "l3_1core"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
wait_until(lambda: os.path.exists("log"))
call.kill()
call.wait()
assert states(stubborn, "-o", "stubborn", "-c", "l3_1core") == {"s/l3_1core": "running"}
batch(stubborn, "-o", "stubborn", "-c", "l3_1core")
with open("log") as file:
    assert file.read() == "start\nend\n" * 2

# A call waits for what another one runs, and its status is of that, too: nothing is run twice, be it failed or --restart.
slow = suite("waits.yaml", [f"{{name: w, command: [sh, -c, 'echo run >> {folder}/waits.log; sleep 2; test -e {folder}/go']}}"])
for words, status in ((), 1), ((), 0), (("--restart",), 0):
    calls = []
    for _ in range(3):
        calls.append(subprocess.Popen([simrun, "batch", slow, "-o", "waits", "-c", "l3_1core", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        time.sleep(0.1)
    for call in calls:
        text = call.communicate(timeout=60)[1]
        assert call.returncode == status and ("0 of 1 done, 1 failed" if status else "1 of 1 done") in text, text
    with open("waits.log") as file:
        assert file.read() == "run\n", (words, status)
    os.remove("waits.log")
    open("go", "w").close()

# Who looks late finds out how long it took all the same.
late = suite("late.yaml", ["{name: late, command: [sleep, '0.5'], time_limit: 3s}"])
call = subprocess.Popen([simrun, "batch", late, "-o", "late", "-c", "l3_1core"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
time.sleep(0.2)
call.send_signal(signal.SIGSTOP)
time.sleep(4.5)
call.send_signal(signal.SIGCONT)
assert call.wait(timeout=60) == 0

# Some simulate, some only count.
mixed = suite("mixed.yaml", ["{name: simulated, command: ['true']}", "{name: counted, command: ['true'], options: [--mode, count]}"])
assert states(mixed, "-o", "mixed", "-c", "l3_1core") == {"simulated/l3_1core": "to do", "counted": "to do"}
batch(mixed, "-o", "mixed", "-c", "l3_1core")
with open("mixed/run.csv") as file:
    assert [bool(row["loads"]) for row in csv.DictReader(file)] == [True, False]  # counting sees none

# Other tasks; traces instead of programs; sweeps.
loop = suite("loop.yaml", ["{name: loop, command: [perl, -e, 'for (1 .. 50000) { $x += $_ }'], environment: {PERL_HASH_SEED: 0}}"])
batch(loop, "-o", "tasks", "--task", "record")
batch(loop, "-o", "tasks", "--task", "bbv", "--", "--interval", "1M")
batch(loop, "-o", "tasks", "--task", "sharing", "-c", "l3_8core")
pinpoints = batch(loop, "-o", "tasks", "--task", "pinpoints", "-c", "l3_1core", "--", "--interval", "1M", "--warm-up", "1M", "--validate").stdout
batch(loop, "-o", "tasks", "-c", "l3_1core")
swept = batch(loop, "-o", "swept", "-c", "l3_1core", "--", "--sweep", "L2.size=256KiB,512KiB").stdout
assert "l3_1core L2.size=256KiB" in swept and "l3_1core L2.size=512KiB" in swept, swept
counted = batch(loop, "-o", "counted", "--", "--mode", "count").stdout
for path in ("record/run.trace", "bbv/profile.bb.zst", "l3_8core/sharing/result.json", "l3_1core/pinpoints/result/report.json"):
    assert os.path.getsize(f"tasks/loop/{path}") > 0, path
figures = read("tasks/loop/l3_1core/pinpoints/result/report.json")["figures"]
with open("tasks/pinpoints.csv") as file:
    row, = csv.DictReader(file)
worst = max(figure["error"] for figure in figures.values())
assert float(row["L1D_mpki"]) == figures["L1D MPKI"]["predicted"] and float(row["cpi_error"]) == figures["CPI estimate"]["error"]
assert float(row["memory_reads_per_1000_whole"]) == figures["memory reads"]["whole"] and float(row["worst_error"]) == worst, row
assert "worst error" in pinpoints and f"{100 * worst:.2f}%" in pinpoints, pinpoints
live = read("tasks/loop/l3_1core/run/result.json")
assert f"{read('counted/loop/run/result.json')['totals']['instructions']:,}" in counted
traces = suite("traces.yaml", ["{name: loop, trace: tasks/loop/record/run.trace}"])
batch(traces, "-o", "of traces", "-c", "l3_1core")
batch(traces, "-o", "of traces", "-c", "l3_1core", "--task", "pinpoints", "--", "--interval", "1M", "--warm-up", "1M")
# In a folder whose name is no UTF-8, which JSON cannot have.
odd = os.fsencode(folder) + b"/\xff"
os.mkdir(odd)
os.link("tasks/loop/record/run.trace", odd + b"/run.trace")
with open(odd + b"/traces.yaml", "w") as file:
    file.write("programs:\n- {name: loop, trace: run.trace}\n")
for _ in range(2):
    said = subprocess.run([simrun, "batch", odd + b"/traces.yaml", "-o", odd + b"/out", "-c", "l3_1core"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert said.returncode == 0 and b"1 of 1 done" in said.stderr, said
assert b"[1/1]" not in said.stderr, said
replayed = read("of traces/loop/l3_1core/run/result.json")
assert abs(replayed["totals"]["instructions"] / live["totals"]["instructions"] - 1) < 1e-3
assert os.path.exists("of traces/loop/l3_1core/pinpoints/result/report.json")

# One of a suite that the task does not take can be left out.
mixed = suite("mixed.yaml", ["{name: loop, trace: tasks/loop/record/run.trace}", "{name: one, command: ['true']}"])
batch(mixed, "-o", "mixed", "--task", "bbv", "--only", "one")

# A program's status counts, but for pinpoints.
status = suite("status.yaml", ["{name: one, command: [perl, -e, 'for (1 .. 50000) { $x += $_ } exit 1'], environment: {PERL_HASH_SEED: 0}, status: 1}"])
batch(status, "-o", "status", "--task", "bbv", "--", "--interval", "1M")
batch(status, "-o", "status", "--task", "pinpoints", "-c", "l3_1core", "--", "--interval", "1M", "--warm-up", "1M")
suite("status.yaml", ["{name: one, command: [sh, -c, 'exit 7']}"])
assert "FAILED, exit status 7 (" in batch(status, "-o", "status", "--task", "bbv", status=1).stderr

# What makes no sense is said before anything runs.
for words, message in (((loop, "-o", "x"), "which machines?"), ((loop, "-o", "x", "-c", "no-such"), "no such machine file"),
                       (("no-such", "-o", "x", "-c", "l3_1core"), "no-such: no such suite file"),
                       ((loop, "-o", "x", "-c", "l3_1core", "-c", "l3_1core.yaml"), "two machines are called l3_1core"),
                       ((loop, "-o", "x", "-c", "l3_1core", "--", "--json", "y"), "--json is no option for the programs of a batch"),
                       ((loop, "-o", "x", "-c", "l3_1core", "--", "-cy"), "-c is no option"),
                       ((loop, "-o", "x", "-c", "l3_1core", "--", "-qc", "y"), "-c is no option"),
                       ((loop, "-o", "x", "-c", "l3_1core", "--", "--", "echo"), "-- is no option"),
                       ((loop, "-o", "x", "-c", "./run.yaml"), "results of a machine are kept by its file's name"),
                       ((loop, "-o", "x", "-c", "./..yaml"), "results of a machine are kept by its file's name"),
                       ((loop, "-o", "x", "--task", "record", "--table"), "--table: record has no figures"),
                       ((loop, "-o", "x", "-c", "l3_1core", "--only", "loop", "--job", "7"), "--job 7: there is none"),
                       ((loop, "-o", "x", "-c", "l3_1core", "--task", "bbv"), "--config: bbv simulates no machine"),
                       ((traces, "-o", "x", "--task", "record"), "program loop is a trace: record takes none"),
                       ((loop, "-o", "x", "-c", "l3_1core", "--only", "nothing"), "--only nothing: no program"),
                       ((loop, "-o", "x", "-c", "l3_1core", "--job", "2"), "--job 2: there is none"),
                       ((loop, "-o", "x", "-c", "l3_1core", "--list", "--table"), "one of them")):
    said = batch(*words, status=2)
    assert message in said.stderr and not os.path.exists("x"), (words, said)
said = batch(loop, "-o", "x", "-c", "l3_1core", "--", "--detials", status=1)
assert "FAILED, exit status 2: unknown option or word: --detials; did you mean --details?" in said.stderr, said
said = batch(loop, "-o", "loop.yaml", "-c", "l3_1core", status=1)
assert "loop.yaml" in said.stderr, said
print("ok")
