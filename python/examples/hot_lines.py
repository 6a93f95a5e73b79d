"""The ten 64-byte lines of memory that a trace touches most: hot_lines.py FILE"""
import collections
import sys

import numpy
import simrun

touched = collections.Counter()
for batch in simrun.Trace(sys.argv[1]).batches():
    lines, counts = numpy.unique(batch.references["address"] // 64, return_counts=True)
    touched.update(dict(zip(lines.tolist(), counts.tolist())))
for line, count in sorted(touched.items(), key=lambda item: (-item[1], item[0]))[:10]:
    print(f"{line * 64:#14x} {count:12}")
