#!/usr/bin/env python3
"""read_drmemtrace.py FILE: what a file of drmemtrace says, as lines PC BYTES [KIND ADDRESS BYTES]..., and whether the
types and markers of its branches agree with where it goes on. Written from the documentation of the format alone."""
import gzip
import struct
import sys

READ, WRITE, PREFETCH, INSTRUCTION, DATA_FLUSH = 0, 1, 2, 10, 20
DIRECT_JUMP, INDIRECT_JUMP, DIRECT_CALL, INDIRECT_CALL, RETURN = 11, 12, 14, 15, 16
THREAD, EXIT, PROCESS, HEADER, FOOTER, MARKER, NO_FETCH, ENCODING, TAKEN, UNTAKEN = 22, 23, 24, 25, 26, 28, 29, 47, 48, 49
KERNEL_EVENT, KERNEL_TRANSFER, TIMESTAMP, FILE_TYPE, VERSION, BRANCH_TARGET = 0, 1, 2, 9, 12, 29
REFERENCES = {READ: "load", WRITE: "store", PREFETCH: "prefetch", DATA_FLUSH: "flush"}


def follows(last, pc):
    """Whether control can go from `last` (type, pc, length, target) to `pc`."""
    kind, at, length, target = last
    if kind in (INDIRECT_JUMP, INDIRECT_CALL, RETURN):
        return pc == target
    if kind in (TAKEN, DIRECT_JUMP, DIRECT_CALL):
        return kind != TAKEN or pc != at + length
    return pc == at + length


def main():
    with (gzip.open if sys.argv[1].endswith(".gz") else open)(sys.argv[1], "rb") as file:
        data = file.read()
    assert len(data) % 12 == 0
    records = list(struct.iter_unpack("<HHQ", data))
    assert records[0] == (HEADER, 0, 5) and (MARKER, VERSION, 5) in records[:4] and (MARKER, FILE_TYPE, 0xe40) in records[:4]
    assert records[-1][0] == FOOTER and records[-2][0] == EXIT
    codes, pending, line, last, target, time, moved = {}, b"", None, None, None, 0, False
    for kind, size, value in records:
        if kind == ENCODING:
            pending += struct.pack("<Q", value)[:size]
        elif kind == MARKER and size == BRANCH_TARGET:
            target = value
        elif kind == MARKER and size == TIMESTAMP:
            assert value > time
            time = value
        elif kind == MARKER and size == KERNEL_EVENT:
            assert last is None or moved or value == last[1] or follows(last, value), f"{last} is interrupted at {value:x}"
            moved = True
        elif kind == MARKER and size == KERNEL_TRANSFER:
            moved = True
        elif kind == NO_FETCH:
            assert value == last[1] and size == last[2]
        elif kind in REFERENCES:
            line += [REFERENCES[kind], f"{value:x}", str(size)]
        elif INSTRUCTION <= kind <= RETURN or kind in (TAKEN, UNTAKEN):
            if line:
                print(*line)
            assert last is None or moved or follows(last, value), f"{last} goes on at {value:x}"
            codes[value] = pending or codes[value]
            assert len(codes[value]) == size
            line, last, pending, moved = [f"{value:x}", codes[value].hex()], (kind, value, size, target), b"", False
            target = None
        else:
            assert kind in (THREAD, EXIT, PROCESS, HEADER, FOOTER, MARKER), kind
    print(*line)


main()
