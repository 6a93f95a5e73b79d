"""The modes of the guests (modes.txt), for the other runners: name to simrun's options."""

import os


def read_modes():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "modes.txt")) as lines:
        of_all = lines.read().split("some:")[0].splitlines()
    return {words[0]: words[1:] for words in (line.split() for line in of_all) if words[0] != "#"}


MODES = read_modes()
