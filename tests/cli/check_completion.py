#!/usr/bin/env python3
"""check_completion.py SIMRUN: what bash offers for every option of every command, against what the help says of it;
and what zsh makes of some lines."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

simrun = sys.argv[1]


def run(*words):
    return subprocess.run([simrun, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, text=True,
                          check=True).stdout


def commands():
    text = run("--help")
    return re.findall(r"(?m)^  (\w+) ", text[text.index("\nCommands"):text.index("\nExamples")])


def options(command):
    """Lists of names, with types ("" of a flag)."""
    found = re.findall(r"(?m)^  (-[\w,-]+)(?: ([A-Za-z|.=,\d-]+))?", run(command, "--help"))
    return [(names.split(","), kind if kind.startswith("KEY") else kind.split("=")[0]) for names, kind in found]


os.chdir(tempfile.mkdtemp())
open("some file.yaml", "w").close()
os.mkdir("folder")
RC = """autoload -U compinit; compinit -u -D
source completion.zsh
zle-line-init() { : > ready }
show() { print -rn -- "$BUFFER" > line.new; mv line.new line }
zle -N zle-line-init; zle -N show; bindkey '^T' show
"""


def in_zsh(line):
    """What a tab makes of it, in a terminal."""
    with tempfile.TemporaryDirectory() as home:
        for name, text in ((".zshrc", RC), ("completion.zsh", run("completion", "zsh"))):
            open(os.path.join(home, name), "w").write(text)
        open(os.path.join(home, "some file.yaml"), "w").close()
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(home)
            os.execvpe("zsh", ["zsh", "-d", "-i"], {"ZDOTDIR": home, "TERM": "dumb", "PATH": os.environ["PATH"]})
        try:
            for keys, answer in ((b"", "ready"), (line.encode() + b"\t\x14", "line")):
                os.write(terminal, keys)
                end = time.monotonic() + 60
                while not os.path.exists(os.path.join(home, answer)):
                    assert time.monotonic() < end, line
                    if select.select([terminal], [], [], 0.01)[0]:
                        os.read(terminal, 65536)
            return open(os.path.join(home, "line")).read()
        finally:
            os.close(terminal)
            os.waitpid(pid, 0)


asked, script = [], run("completion", "bash")


def ask(*words):
    """The last one is completed."""
    asked.append(words)


quote = lambda word: "'" + word + "'"
checks = []
for command in commands():
    listed = options(command)
    checks.append((len(asked), "all", {name for names, _ in listed for name in names}))
    ask(command, "-")
    for names, kind in listed:
        for name in names:
            words = {part for part in kind.split("|") if re.fullmatch(r"[a-z][\w-]*", part)}
            if "FILE" in kind.split("|"):
                words |= {"some file.yaml", "folder"}
            if "DIR" in kind.split("|"):
                words |= {"folder"}
            if "MACHINE" in kind.split("|"):
                words |= {"l3_8core", "host", "some file.yaml", "folder"}
            if kind:
                checks.append((len(asked), "machines" if kind == "MACHINE" else "words", words))
                ask(command, name, "")
                if words and name.startswith("--") and not kind.startswith(("FILE", "MACHINE", "DIR")):
                    checks.append((len(asked), "words", words))
                    ask(command, name, "=", "")  # as bash splits --name=
checks.append((len(asked), "words", {"some file.yaml", "folder"}))
ask("--mode", "null", "--", "ls", "")
for words, expected in ((("",), set(commands())), (("--mode", "c"), {"count"}), (("--hdf",), {"--hdf5"}),
                        (("-q", "simp",), {"simpoint"}), (("help", "simp"), {"simpoint"}),
                        (("config", "l3_8"), {"l3_8core"}), (("info", "som"), {"some file.yaml"}),
                        (("completion", ""), {"bash", "zsh"}), (("record", "-o", "t", "--", "tru"), {"true", "truncate"}),
                        (("--config", "l3_8core", "truncat"), {"truncate"}), (("record", "-o", "fold"), {"folder"}),
                        (("record", "-o", "t", "--", "./"), {"./some file.yaml", "./folder"})):
    checks.append((len(asked), "has", expected))
    ask(*words)
lines = [script, "set -f"]
for words in asked:
    lines.append(f"COMP_WORDS=(simrun {' '.join(map(quote, words))}); COMP_CWORD={len(words)}; _simrun; "
                 "printf '%s|' \"${COMPREPLY[@]}\"; echo")
answer = subprocess.run(["bash", "--norc"], input="\n".join(lines), capture_output=True, timeout=120, text=True)
assert answer.returncode == 0 and not answer.stderr, answer.stderr[:2000]
replies = [set(line.split("|")) - {""} for line in answer.stdout.splitlines()]
assert len(replies) == len(asked), (len(replies), len(asked))
for at, how, expected in checks:
    reply = replies[at]
    good = expected <= reply if how in ("has", "machines") else expected == reply
    assert good, (asked[at], how, "missing", expected - reply, "too much", reply - expected if how != "has" else "")

# zsh, in a terminal: each line with a tab behind it, and what the line becomes.
if shutil.which("zsh"):
    for line, expected in (("simrun --config=l3_8c", "--config=l3_8core"), ("simrun record -o o -- trunca", "-- truncate"),
                           ("simrun -c l3_8core -- ls some", "-- ls some\\ file.yaml"), ("simrun -c l3_8core -- ./so", "-- ./some\\ file.yaml"),
                           ("simrun --config l3_8c", "--config l3_8core"), ("simrun simpo", "simrun simpoint")):
        completed = in_zsh(line)
        assert expected in completed, (line, completed)
print(f"{len(asked)} words completed")
