#!/usr/bin/env python3
"""Prints the ends of the outputs of the tests that failed: failures.py JUNIT_XML. For the end of a log, of which often only the last
lines are kept."""

import sys
import xml.etree.ElementTree as ElementTree

LINES = 60


def main():
    for case in ElementTree.parse(sys.argv[1]).iter("testcase"):
        if case.find("failure") is None:
            continue
        output = (case.findtext("system-out") or "").rstrip("\n").split("\n")
        print("\n--- %s failed%s:" % (case.get("name"), "; the last lines of its output" if len(output) > LINES else ""))
        print("\n".join(output[-LINES:]))


if __name__ == "__main__":
    main()
