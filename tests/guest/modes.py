"""The modes of the guests (modes.txt), for the other runners: name to simrun's options."""

import os


def read_modes():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "modes.txt")) as lines:
        of_all = [line for line in lines.read().split("\nsome:\n")[0].splitlines() if line[0] != "#"]
    return {words[0]: words[1:] for words in map(str.split, of_all)}


MODES = read_modes()
assert "sim" in MODES
