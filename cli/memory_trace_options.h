// `--memory-trace`, as plain values (memory_trace.h).
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace simrun::cli {

class CommandLine;

struct MemoryTraceOptions {
  std::string file;  // empty: none
  std::string format = "csv";
};
void add_memory_trace_options(CLI::App& app, MemoryTraceOptions& options);
// `in_one_thread`: it is one machine, by one thread, and without details. Throws UserError with exit status 2.
void check_memory_trace_options(const CommandLine& line, const MemoryTraceOptions& options, bool in_one_thread);

}  // namespace simrun::cli
