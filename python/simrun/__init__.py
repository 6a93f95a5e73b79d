"""Traces of simrun (docs/trace-format.md) as numpy arrays.

    import simrun
    trace = simrun.Trace("gzip.trace")
    for batch in trace.batches(start=1_000_000, stop=2_000_000):
        stores = batch.references[batch.references["kind"] == simrun.STORE]
        pcs = batch.instructions["pc"][stores["instruction"]]

The library libsimrun.so is looked for in $SIMRUN_LIBRARY, beside this file, above it in the tree that it was installed
in, and where the system's loader looks.
"""
import ctypes
import json
import os
import pathlib
from typing import Iterator, NamedTuple, Optional

import numpy

LOAD, STORE, READ_MODIFY_WRITE, PREFETCH, FLUSH, NON_TEMPORAL_LOAD, NON_TEMPORAL_STORE = range(7)  # Batch.references["kind"]
LOCKED, STACK = 1, 16  # bits of Batch.references["flags"]
# Bits of Batch.instructions["flags"].
ENDS_BLOCK, CONDITIONAL, CALL, RETURN, INDIRECT, REPEATS, SYSTEM_CALL, NOP = (1 << bit for bit in range(8))

# As Instruction and Reference stand in trace.h.
_INSTRUCTION = numpy.dtype({
    "names": ["number", "number_in_thread", "pc", "next_pc", "iterations", "first_reference", "reference_count", "thread",
              "process", "flags", "length", "code_known", "code"],
    "formats": ["u8", "u8", "u8", "u8", "u8", "u8", "u4", "u4", "u4", "u1", "u1", "u1", ("u1", 15)],
    "offsets": [0, 8, 16, 24, 32, 40, 48, 52, 56, 60, 61, 62, 63], "itemsize": 80})
_STORED_REFERENCE = numpy.dtype({"names": ["address", "bytes", "kind", "flags"], "formats": ["u8", "u4", "u1", "u1"],
                                 "offsets": [0, 8, 12, 13], "itemsize": 16})
_REFERENCE = numpy.dtype([("address", "u8"), ("bytes", "u4"), ("kind", "u1"), ("flags", "u1"), ("instruction", "u8")])


class Error(Exception):
    """What is wrong with a trace: file, offset, cause."""


class Batch(NamedTuple):
    """Neighbouring instructions with their references, in the order in which the trace is simulated.

    instructions: a structured array with number (of all threads), number_in_thread, pc, next_pc (0: the trace ends
        before it), iterations (of a rep string instruction), first_reference (index into references),
        reference_count, thread, process, flags, length, code (15 bytes, `length` of them used), code_known.
    references: address, bytes, kind, flags, instruction (index into instructions).
    """
    instructions: numpy.ndarray
    references: numpy.ndarray


def _load_library() -> ctypes.CDLL:
    here = pathlib.Path(__file__).resolve().parent
    above = [parent / name for parent in here.parents for name in ("libsimrun.so.0", "lib/libsimrun.so.0")][:8]
    places = [here / "libsimrun.so.0", *above, *here.parents[2].glob("*/libsimrun.so.0")]
    given = os.environ.get("SIMRUN_LIBRARY")
    path = given or next((str(place) for place in places if place.exists()), "libsimrun.so.0")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"cannot load simrun's library ({error}); set SIMRUN_LIBRARY to libsimrun.so.0") from error
    pointer, text_out = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
    count_out = ctypes.POINTER(ctypes.c_uint64)
    for name, result, arguments in [
            ("open", pointer, [ctypes.c_char_p, text_out]), ("close", None, [pointer]), ("free", None, [pointer]),
            ("describe", pointer, [pointer, text_out]),
            ("read", pointer, [pointer, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64, text_out]),
            ("end_read", None, [pointer]),
            ("next", ctypes.c_uint64, [pointer, ctypes.c_uint64, text_out, text_out, count_out, text_out])]:
        function = getattr(library, "simrun_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load_library()


def _call(function, *arguments):
    error = ctypes.c_void_p()
    result = function(*arguments, ctypes.byref(error))
    if error.value is not None:
        raise Error(_take_text(error.value))
    return result


def _take_text(address: int) -> str:
    text = ctypes.string_at(address).decode(errors="replace")
    _library.simrun_free(address)
    return text


def _array(address: Optional[int], count: int, dtype: numpy.dtype) -> numpy.ndarray:
    if count == 0:
        return numpy.empty(0, dtype)
    return numpy.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype).copy()


class Trace:
    """A trace that simrun record wrote.

    instruction_count, processes, threads, modules, information, summary (None: the recording was not completed), incomplete
    (empty, or why there is no more).
    """

    def __init__(self, path):
        self._trace = None
        self._trace = _call(_library.simrun_open, os.fsencode(path))
        told = json.loads(_take_text(_call(_library.simrun_describe, self._trace)))
        self.instruction_count = told["instructions"]
        self.incomplete = told["incomplete"]
        self.processes, self.threads, self.modules = told["processes"], told["threads"], told["modules"]
        self.information, self.summary = told["information"], told["summary"]

    def __del__(self):
        if self._trace is not None:
            _library.simrun_close(self._trace)

    def batches(self, start: int = 0, stop: Optional[int] = None, thread: int = -1, size: int = 1 << 18,
                process: int = -1) -> Iterator[Batch]:
        """Instructions start to stop (counted over all threads), of one thread or process (-1: all), about `size` at a time
        (fewer when they have millions of references)."""
        if start < 0 or (stop is not None and stop < 0) or size < 1:
            raise ValueError("start, stop and size are counts")
        last = 2**64 - 1 if stop is None else stop
        cursor = _call(_library.simrun_read, self._trace, start, last, thread, process)
        try:
            while True:
                first, references, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
                got = _call(_library.simrun_next, cursor, size, ctypes.byref(first), ctypes.byref(references),
                            ctypes.byref(count))
                if got == 0:
                    return
                yield self._batch(first.value, got, references.value, count.value)
        finally:
            _library.simrun_end_read(cursor)

    @staticmethod
    def _batch(first: int, count: int, first_reference: Optional[int], reference_count: int) -> Batch:
        instructions = _array(first, count, _INSTRUCTION)
        instructions["first_reference"] -= numpy.uint64(first_reference or 0)
        instructions["first_reference"] //= numpy.uint64(_STORED_REFERENCE.itemsize)
        stored = _array(first_reference, reference_count, _STORED_REFERENCE)
        references = numpy.empty(reference_count, _REFERENCE)
        for name in _STORED_REFERENCE.names:
            references[name] = stored[name]
        references["instruction"] = numpy.repeat(numpy.arange(count), instructions["reference_count"])
        return Batch(instructions, references)
