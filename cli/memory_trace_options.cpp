#include "cli/memory_trace_options.h"

#include <vector>

#include "cli/command_line.h"
#include "traces/export/formats.h"

namespace simrun::cli {

namespace {

std::vector<std::string> names_of_formats() {
  std::vector<std::string> names;
  for (const traces::ExportFormat& format : traces::export_formats())
    if (format.takes_references_alone) names.emplace_back(format.name);
  return names;
}

}  // namespace

void add_memory_trace_options(CLI::App& app, MemoryTraceOptions& o) {
  app.add_option("--memory-trace", o.file,
                 "Write what reaches memory, behind the last level: each line read or written; compressed as the name ends "
                 "(.zst, .gz, .xz)")
      ->type_name("FILE")
      ->group("Model");
  app.add_option("--memory-format", o.format, "Its format (docs/trace-conversion.md)")
      ->transform(one_of(names_of_formats(), ChoiceBecomes::kWord))
      ->type_name(alternatives(names_of_formats()))
      ->capture_default_str()
      ->group("Model");
}

void check_memory_trace_options(const CommandLine& line, const MemoryTraceOptions& o, bool in_one_thread) {
  if (o.file.empty() && line.has("--memory-format")) line.usage_error("--memory-format goes with --memory-trace");
  if (!o.file.empty() && !in_one_thread)
    line.usage_error("--memory-trace is of one machine in one thread: without several --config, --sweep, --miss-curve, --sim-threads and --details");
}

}  // namespace simrun::cli
