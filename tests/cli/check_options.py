#!/usr/bin/env python3
"""check_options.py SIMRUN: every option of every command, as its help lists them, with words that it cannot take: a usage
error that names the option and says what is taken, in simrun's words. Every word that an option is said to take is taken."""
import os
import re
import subprocess
import sys
import tempfile

simrun = sys.argv[1]
# How CLI11 says it: maps, limits of types, no word of what is taken.
leaks = re.compile(r"FAILED|Could not convert|not in range|not in \{|->|e\+308|000000000|At Most|required \w+ missing|"
                   r"not expected|Input is empty|could not be converted|stoull|unit not recognized")
numbers = {"N", "SIZE", "TIME", "PERCENT", "PART", "GAIN", "PID", "CORES", "RANGES"}


def run(*words):
    return subprocess.run([simrun, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, text=True)


def commands():
    text = run("--help").stdout
    return re.findall(r"(?m)^  (\w+) ", text[text.index("\nCommands"):text.index("\nExamples")])


def options(command):
    """Names with types ("" of a flag)."""
    text = run(command, "--help").stdout
    return [(name, kind if kind.startswith("KEY") else kind.split("=")[0]) for name, kind in re.findall(r"(?m)^  (?:-\w,)*(--?[\w-]+)(?:,--[\w-]+)*(?: ([A-Za-z|.=,\d-]+))?", text)]


def said_of(command, option, word):
    """The message about it. Nothing else is wrong with the words as far as they are read before it."""
    result = run(command, f"{option}={word}") if option.startswith("--") else run(command, option, word)
    assert result.returncode == 2, (command, option, word, result)
    assert not leaks.search(result.stderr), (command, option, word, result.stderr)
    assert result.stderr.startswith("simrun: ") and "\nTry: simrun" in result.stderr, (command, option, word, result.stderr)
    return result.stderr


os.chdir(tempfile.mkdtemp())
checked = 0
for command in commands():
    found = options(command)
    assert ("--help", "") in found or command == "help" and found, (command, found)
    for option, kind in found:
        if not kind or option in ("--help", "--version"):
            continue
        checked += 1
        parts = kind.split("|")
        words = [part for part in parts if re.fullmatch(r"[a-z][\w-]*", part)]
        # "--option=" is no word at all to CLI11, "--option ''" an empty one.
        empty = run(command, option, "")
        assert empty.returncode == 2 and "is empty" in empty.stderr and option in empty.stderr, (command, option, empty)
        missing = run(command, option)
        assert missing.returncode == 2 and f"{option} needs a value" in missing.stderr, (command, option, missing)
        if words == parts:
            said = said_of(command, option, "b0gus")
            assert said.startswith(f"simrun: {option}: ") and all(word in said for word in words), said
            said_of(command, option, "1")  # the number that the word stands for inside
            for word in words:
                assert f"{option}: " not in run(command, option, word).stderr, (command, option, word)
        if numbers & set(parts):
            unbounded = {"PERCENT", "GAIN", "TIME"} & set(parts)
            for word in ("b0gus", "-5", "1x", "nan") + (() if unbounded else ("99999999999999999999999",)):
                result = said_of(command, option, word)
                if (command, option) != ("sim", "--warm-up") and not (command in ("sim", "view") and option in ("--from", "--to")):
                    assert result.startswith(f"simrun: {option}: "), result
        if kind != "KEY=V1,V2,..." and option != "--leave-out" and not words and "N" in parts:
            twice = run(command, option, "2000", option, "2000")
            assert twice.returncode == 2 and re.search("given more than once|2000 is not from", twice.stderr), (command, option, twice)
    wrong = run(command, "--b0gus")
    assert wrong.returncode == 2 and "unknown option or word: --b0gus" in wrong.stderr, wrong
assert checked > 150, checked

for words, expected in ((("--jsno", "x", "--", "true"), "did you mean --json?"),
                        (("sim", "--confg", "x"), "did you mean --config?"),
                        (("simpont", "x.bb"), "\"simpont\": no such command or program; did you mean simrun simpoint?"),
                        (("-q", "reccord"), "did you mean simrun record?"),
                        (("help", "simm"), "did you mean simrun sim?"),
                        (("no_such_thing_at_all",), "no such command or program\n"),
                        (("true",), "which machine?"),
                        (("sharing", "--", "true"), "--config is required: simrun sharing --config MACHINE [OPTIONS] -- PROGRAM"),
                        (("",), "\"\": no such command or program"),
                        (("attach", "abc"), "PID: abc is no whole number from 1 to "),
                        (("--mode", "trace", "--code-cache", "1.5MB", "--quantum", "x", "--", "true"), "--quantum: x"),
                        (("--code-cache", "300000.5", "--", "true"), "300000.5 is no whole number of bytes"),
                        (("--code-cache", "1PiB", "--", "true"), "is no size")):
    result = run(*words)
    assert result.returncode == 2 and expected in result.stderr, (words, result)
result = run("--mode", "null", "-q", "--code-cache", "1.5MiB", "--", "true")
assert result.returncode == 0 and not result.stderr, result
for words in ("completion", "bash"), ("config", "--schema"), ("--version",):  # some write more than the stream's buffer holds
    with open("/dev/full", "w") as full:
        result = subprocess.run([simrun, *words], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1 and result.stderr == "simrun: cannot write to standard output: No space left on device\n", (words, result)
result = run("--mode", "trace", "-c", "l3_8core", "--", "true")
assert result.returncode == 2 and "--config needs the cache model" in result.stderr and "--time-slice" not in result.stderr, result
for command in commands():
    assert run("help", command).stdout == run(command, "--help").stdout != "", command
assert run("help").stdout == run("--help").stdout
print(f"{checked} options")
