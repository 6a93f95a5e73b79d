#!/usr/bin/env python3
"""A program that goes on making code: when the tables that describe it are full they begin anew, and nothing else changes.

new_code runs with tables of the smallest size, which are full several times, and of the usual size, which are not: output and status, every
count of a run of one thread, and the simulated caches must be the same, live and from a trace. With more threads, which are stopped in the
midst of what they do, only what the program says must be. Without a reader the engine renews by itself; where executions are counted by path
it cannot, and says so."""

import argparse
import json
import os
import subprocess
import tempfile

FEW = ["--described", "16384"]
FUNCTIONS = "30000"
MACHINE = ["--config", "l3_8core.yaml"]


class Checker:
    def __init__(self, simrun, program, directory):
        self.simrun, self.program, self.directory = simrun, program, directory

    def run(self, arguments, threads):
        """Standard output, and the results where they are asked for."""
        result = os.path.join(self.directory, "result.json")
        if arguments[0] != "record":
            arguments = arguments + ["--json", result]
        done = subprocess.run([self.simrun, *arguments, "-q", "--", self.program, FUNCTIONS, threads], capture_output=True, text=True,
                              timeout=100, check=False)
        assert done.returncode == 0 and not done.stderr, (arguments, done)
        if arguments[0] == "record":
            return done.stdout, None
        with open(result, encoding="utf-8") as text:
            return done.stdout, json.load(text)

    def replay(self, trace):
        result = os.path.join(self.directory, "replay.json")
        subprocess.run([self.simrun, "check", "-q", trace], timeout=100, check=True)
        subprocess.run([self.simrun, "sim", "-q", *MACHINE, "--json", result, trace], timeout=100, check=True)
        with open(result, encoding="utf-8") as text:
            return json.load(text)


def counts_of(results):
    """What must not depend on how code was described."""
    totals = {name: value for name, value in results["totals"].items() if name != "stream_words"}
    names = ("levels", "memory", "transfers", "cores", "hot_instructions", "hot_lines")
    return totals, {name: results.get(name) for name in names}


def renewals_of(results):
    return results["engine"]["renewals"]


def check_one_thread(checker):
    for mode in (["--mode", "trace"], ["--order", "recorded", "--mode", "trace"], MACHINE, [*MACHINE, "--sim-threads", "2"],
                 [*MACHINE, "--details"]):
        output, results = checker.run(mode, "0")
        assert renewals_of(results) == 0, mode
        same_output, same_results = checker.run([*mode, *FEW], "0")
        assert renewals_of(same_results) >= 2, (mode, same_results["engine"])
        assert output == same_output and counts_of(results) == counts_of(same_results), mode
    return output, results


def check_traces(checker, output, live):
    """`live`: of the same machine."""
    trace = os.path.join(checker.directory, "t.trace")
    assert checker.run(["record", "-o", trace, *FEW], "0") == (output, None)
    assert counts_of(checker.replay(trace)) == counts_of(live)
    start, stop = live["totals"]["instructions"] // 3, live["totals"]["instructions"] * 2 // 3
    regions = []
    for few in ([], FEW):
        region = os.path.join(checker.directory, f"region{len(few)}.trace")
        checker.run(["record", "-o", region, "--from", str(start), "--to", str(stop), *few], "0")
        regions.append(checker.replay(region)["totals"]["loads"])
    # It begins and ends between paths, which may be cut otherwise.
    assert abs(regions[0] - regions[1]) < 200, regions


def check_threads(checker):
    native = subprocess.run([checker.program, FUNCTIONS, "3"], capture_output=True, text=True, timeout=60, check=True).stdout
    for mode in (["--mode", "trace"], ["--mode", "trace", "--ring-size", "16KiB"], [*MACHINE, "--sim-threads", "2"]):
        output, results = checker.run([*mode, *FEW], "3")
        assert output == native and renewals_of(results) >= 6, (mode, results["engine"])


def check_without_reader(checker):
    command = [checker.simrun, "--mode", "trace", "--discard", "--stats", "engine", *FEW, "--", checker.program, FUNCTIONS, "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0 and not "rror" in done.stderr, done


def check_path_counts(checker):
    command = [checker.simrun, "bbv", "-o", os.path.join(checker.directory, "x.bb"), *FEW, "--", checker.program, FUNCTIONS, "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode != 0 and "more code than" in done.stderr, done


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simrun", required=True)
    parser.add_argument("program")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="simrun_renewals_") as directory:
        checker = Checker(arguments.simrun, arguments.program, directory)
        output, _ = check_one_thread(checker)
        check_traces(checker, output, checker.run(MACHINE, "0")[1])
        check_threads(checker)
        check_without_reader(checker)
        check_path_counts(checker)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
