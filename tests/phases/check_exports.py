#!/usr/bin/env python3
"""check_exports.py SIMRUN GUEST: `simrun pinpoints --to FORMAT`."""
import csv
import glob
import gzip
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tempfile

import check_pinpoints

from check_pinpoints import run

WORDS = ("--config", "l3_4core.yaml", "--interval", "100k", "--warm-up", "300k", "-k", "4", "--points", "6", "-o", "d")


def table(name):
    with open(f"d/{name}/regions.csv") as file:
        return list(csv.DictReader(file))


def trace_of(row):
    """The native trace that a file was made of."""
    name = row["file"].split("/")[0]
    return "d/regions/" + name[:name.index("_weight") + len("_weight0.12345")] + ".trace"


def information(trace):
    return json.loads(subprocess.run([check_pinpoints.SIMRUN, "info", "--json", trace], capture_output=True, check=True).stdout)


def contents(name, row):
    data = open(f"d/{name}/{row['file']}", "rb").read()
    return lzma.decompress(data) if row["file"].endswith(".xz") else gzip.decompress(data)


def times(name):
    return {path: os.stat(path).st_mtime_ns for path in glob.glob(f"d/{name}/**", recursive=True) if os.path.isfile(path) and not path.endswith(".csv")}


def of_one_thread(guest):
    run(*WORDS, "--to", "champsim", "--to", "din", "--", guest, "2")
    regions = sorted(glob.glob("d/regions/*.trace"))
    for name in ("champsim", "din"):
        rows = table(name)
        assert [trace_of(row) for row in rows] == regions
        for row in rows:
            known = information(trace_of(row))
            assert int(row["warm_up"]) == known["summary"]["region"]["warm_up"]
            assert int(row["warm_up"]) + int(row["instructions"]) == known["instructions"] > 0
            assert f"_weight{float(row['weight']):.5f}" in row["file"] and f"_phase{int(row['phase']):02}" in row["file"]
            data = contents(name, row)
            if name == "champsim":
                assert len(data) == 64 * known["instructions"]
            else:
                assert data.count(b"\n2 ") + data.startswith(b"2 ") == known["instructions"]
    assert sum(float(row["weight"]) for row in table("din")) > 0.9999


def is_not_done_again(guest):
    before = times("champsim")
    again = run(*WORDS, "--to", "champsim", "--", guest, "2").stderr
    assert "exports: d/champsim is there already" in again and times("champsim") == before
    # What an interrupted call had not finished, and what is damaged or gone.
    lost = table("champsim")[1]["file"]
    os.remove(f"d/champsim/{lost}")
    assert "exports: 1 files written into d/champsim" in run(*WORDS, "--to", "champsim", "--", guest, "2").stderr
    after = times("champsim")
    assert after.keys() == before.keys() and [path for path in after if after[path] != before[path]] == [f"d/champsim/{lost}"]
    open("d/champsim/note", "w").write("mine")
    other = [word if word != "6" else "4" for word in WORDS]   # other regions
    for options in (), ("--no-traces",):
        assert "d/champsim holds files of other regions" in run(*other, *options, "--", guest, "2").stderr
    run(*other, "--to", "champsim", "--", guest, "2")
    assert {os.path.basename(path) for path in times("champsim")} == {row["file"] for row in table("champsim")} | {"note"}


def of_several_threads(guest):
    run(*WORDS, "--restart", "--record", "--to", "champsim", "--to", "csv", "--", guest, "1", "3")
    traces = sorted(glob.glob("d/regions/*.trace"))
    rows = table("champsim")
    assert any("/t" in row["file"] for row in rows)
    for trace in traces:
        own = [row for row in rows if trace_of(row) == trace]
        known = information(trace)
        assert sum(int(row["warm_up"]) for row in own) == known["summary"]["region"]["warm_up"]
        assert sum(int(row["warm_up"]) + int(row["instructions"]) for row in own) == known["instructions"]
        for row in own:
            assert len(contents("champsim", row)) == 64 * (int(row["warm_up"]) + int(row["instructions"]))
            assert len(own) == 1 or row["file"].endswith(f"/t{row['thread']}.champsimtrace.xz")
    assert [row["thread"] for row in table("csv")] == [""] * len(traces), "this format holds all threads"


def odd_names(guest):
    os.symlink(guest, 'a,"b"_r1')
    words = ("--to", "din", "--", './a,"b"_r1', "2")
    assert "files written into d/din" in run(*WORDS, "--restart", *words).stderr
    assert "d/din is there already" in run(*WORDS, *words).stderr
    assert all(row["file"].startswith('a,"b"_r1_r00') and contents("din", row) for row in table("din"))


def coverage(guest):
    """Phases that --coverage leaves out have no region, and the report says how much they are."""
    said = run(*WORDS, "--restart", "--coverage", "0.5", "--", guest).stderr
    report = json.loads(pathlib.Path("d/report.json").read_text())
    assert 0.5 <= report["covered"] < 0.95, report["covered"]
    remark = next(remark for remark in report["remarks"] if "--coverage 0.5" in remark)
    assert f"{100 * (1 - report['covered']):.2f}% of the run, have no region" in remark and remark in said, (remark, said)
    assert remark in pathlib.Path("d/report.txt").read_text()
    run(*WORDS, "--", guest)
    report = json.loads(pathlib.Path("d/report.json").read_text())
    assert abs(report["covered"] - 1) < 1e-9 and not any("--coverage" in remark for remark in report["remarks"])


def from_the_start():
    """A region that begins with the program has its first instruction."""
    words = ("--config", "l3_1core.yaml", "--warm-up", "0", "-k", "3", "--early", "1", "-o", "start")
    for interval in "100M", "10k":
        run(*words, "--restart", "--interval", interval, "--", "/bin/true")
        whole = json.loads(pathlib.Path("start/report.json").read_text())
        first = min(glob.glob("start/regions/*_r001_*.trace"))
        region = information(first)["summary"]["region"]
        assert region["first_instruction"] == 0 and region["interval"] == 0, region
        length, traced = min(whole["instructions"], whole["interval_length"]), information(first)["instructions"]
        assert traced == length or (interval == "10k" and abs(traced - length) < 64), "ends with a path"


def another_program_later():
    """The second run, which is traced from the start, executes a program that the profiled one did not."""
    script = "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; [ -e later ] && exec /bin/true; : > later"
    said = run("--config", "l3_1core.yaml", "--interval", "100k", "-k", "2", "--early", "1", "-o", "other", "--", "/bin/sh", "-c", script).stderr
    assert "not followed" not in said, said


def errors(guest):
    assert "--no-traces" in run(*WORDS, "--to", "champsim", "--no-traces", "--", guest, status=2).stderr
    assert "champsim" in run(*WORDS, "--to", "none", "--", guest, status=2).stderr


if __name__ == "__main__":
    check_pinpoints.SIMRUN, guest = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="simrun-exports-") as folder:
        os.chdir(folder)
        of_one_thread(guest)
        is_not_done_again(guest)
        of_several_threads(guest)
        odd_names(guest)
        coverage(guest)
        from_the_start()
        another_program_later()
        errors(guest)
    print("passed")
