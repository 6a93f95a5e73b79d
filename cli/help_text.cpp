#include "cli/help_text.h"

namespace simrun::cli {

const char* const kDescription =
    "simrun runs an unmodified Linux x86-64 program, sees every instruction and memory reference of all its\n"
    "threads, and simulates a coherent cache hierarchy with them while it runs.";

const char* const kUsage =
    "Usage: simrun [run] --config FILE [OPTIONS] -- PROGRAM [ARGUMENTS...]\n"
    "       simrun config FILE\n"
    "       simrun completion bash|zsh";

const char* const kExamples =
    R"(Examples:
  simrun --config l3_8core.yaml -- ls -lR /usr/share
      Runs ls as ever; then prints, on standard error, what an 8-core machine's caches would have seen.
      A bare name is looked up in the machines that come with simrun; a path works too.
  simrun --config l3_8core.yaml --json result.json --quiet -- ./solver input.dat
      For scripts: no report, no progress line; everything in result.json (docs/results.md).
  simrun --mode trace -- gzip -k big.tar
      Counts instructions, loads and stores; no cache model.
  simrun --mode null --stats engine -- python3 script.py
      Translation only: what does running from the code cache cost?
  simrun config l3_8core.yaml
      The machine with every key resolved.
  source <(simrun completion bash)

Everything behind `--` belongs to the program. Its standard streams, exit status and ending signal are its own.
Exit status of simrun: the program's; 2 for a usage error, 1 for a failure, 127 when there is no such program,
126 when it cannot be executed. Sizes: 65536, 256KiB, 64MiB (powers of 1024).
)";

}  // namespace simrun::cli
