#!/usr/bin/env python3
"""Count mode: a thread that goes round by look-ups of indirect targets only comes to no limit check; it must say how far it is all the same
(instr/channel/standstill.h). The program is ended by a signal that it does not catch, amid the loop."""

import argparse
import json
import os
import subprocess
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simrun", required=True)
    parser.add_argument("program")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="simrun_standstill_") as directory:
        result = os.path.join(directory, "result.json")
        command = [arguments.simrun, "-q", "--mode", "count", "--json", result, "--", arguments.program]
        status = subprocess.run(command, timeout=60, check=False).returncode
        assert status in (-14, 128 + 14), f"exit status {status}, not that of SIGALRM"
        with open(result, encoding="utf-8") as text:
            document = json.load(text)
            instructions = document["totals"]["instructions"]
            assert [thread["cut_off"] for thread in document["threads"]] == [True], "it was killed amid the loop"
        # One second; a hundredth of what the slowest machine does in a tenth of that.
        assert instructions > 1_000_000, f"{instructions} instructions are known of a second's"
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
