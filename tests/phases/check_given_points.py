#!/usr/bin/env python3
"""check_given_points.py SIMRUN GUEST: `simrun pinpoints` of points that were chosen otherwise, as files of SimPoint's."""
import json
import os
import subprocess
import sys
import tempfile

SIMRUN, GUEST = map(os.path.abspath, sys.argv[1:3])


def pinpoints(folder, *words, status=0):
    done = subprocess.run([SIMRUN, "pinpoints", "--config", "l3_1core", "--interval", "100k", "--no-traces", "-o", folder, *words, "--", GUEST, "1"],
                          capture_output=True, text=True)
    assert done.returncode == status, done
    return done.stderr


def write(name, pairs):
    with open(name, "w") as file:
        file.writelines(f"{first} {cluster}\n" for first, cluster in pairs)


def read(name):
    return [line.split() for line in open(name)]


def split_multiplier(line):
    """(the line without its multiplier, the multiplier): regions.csv has it in a field, and in a comment for the reader."""
    if line.startswith("#"):
        text, _, multiplier = line.partition(" Multiplier = ")
        return text, float(multiplier or 0)
    fields = line.rstrip("\n").split(",")
    return (line, 0.0) if fields[0] == "comment" else (fields[:-2] + fields[-1:], float(fields[-2]))


def assert_same_regions(own, given):
    """But for multipliers: in the given weights they come from what the file has of them, six digits."""
    for a, b in zip(*(map(split_multiplier, open(f"{name}/regions.csv")) for name in (own, given)), strict=True):
        assert a[0] == b[0] and abs(a[1] - b[1]) <= 1e-4 * max(1, a[1]), (a, b)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pinpoints("own", "-k", "4", "--points", "1", "--warm-up", "200k")
    points, weights = read("own/points.simpoints"), read("own/points.weights")
    assert 1 < len(points) == len(weights)
    # As SimPoint's lptN files, some clusters' numbers are missing.
    write("a.simpoints", ((interval, 3 * int(cluster) + 1) for interval, cluster in points))
    write("a.weights", ((weight, 3 * int(cluster) + 1) for weight, cluster in weights))
    given = ("--simpoints", "a.simpoints", "--weights", "a.weights", "--warm-up", "200k")
    pinpoints("given", *given)
    assert read("given/points.simpoints") == points, (points, read("given/points.simpoints"))
    assert_same_regions("own", "given")
    figures = [json.load(open(f"{name}/report.json"))["figures"] for name in ("own", "given")]
    for name, figure in figures[0].items():
        assert abs(figures[1][name]["predicted"] - figure["predicted"]) <= 1e-4 * max(1, figure["predicted"]), (name, figure)
    assert "profile.bb.zst is there already" in pinpoints("given", *given)
    # Others in the same folder: the profile stays, the regions do not.
    write("b.simpoints", [(5, 0)])
    write("b.weights", [(1, 0)])
    pinpoints("given", "--simpoints", "b.simpoints", "--weights", "b.weights", "--warm-up", "200k")
    regions = json.load(open("given/report.json"))["regions"]
    assert [r["interval"] for r in regions] == [5] and regions[0]["weight"] == 1, regions
    write("b.simpoints", [(10**9, 0)])
    assert "b.simpoints: interval 1000000000, but the profile" in pinpoints("given", "--simpoints", "b.simpoints", "--weights", "b.weights", status=1)
    assert "go together" in pinpoints("given", "--simpoints", "b.simpoints", status=2)
    assert "File does not exist: c" in pinpoints("given", "--simpoints", "c", "--weights", "c", status=2)
