#include "cli/memory_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/user_error.h"
#include "cli/report.h"

namespace simrun::cli {

namespace {

const traces::ExportFormat& format_of(const MemoryTraceOptions& options, const sim::MachineConfig& machine) {
  const auto formats = traces::export_formats();
  const traces::ExportFormat& format =
      *std::find_if(formats.begin(), formats.end(), [&](const auto& f) { return options.format == f.name; });
  if (format.single_thread && machine.cores > 1)
    throw UserError(fmt::format("--memory-format {}: a file holds what one core asks for, and the machine has {}", format.name, machine.cores), 2);
  return format;
}

}  // namespace

MemoryTrace::MemoryTrace(const MemoryTraceOptions& options, const sim::MachineConfig& machine)
    : path_(options.file),
      line_bytes_(machine.line_bytes),
      format_(format_of(options, machine)),
      out_(options.file),
      exporter_(format_.make(out_, {.behind_caches = true})) {}

void MemoryTrace::memory_access(sim::MemoryAccess access, uint64_t line) {
  using sim::MemoryAccess;
  ++(access == MemoryAccess::kWrite ? writes_ : access == MemoryAccess::kPrefetch ? prefetches_ : reads_);
  if (!failure_.empty()) return;
  // Ramulator 2 reads addresses as signed numbers. Names of shared memory begin at 0xf000 times 2^48 (instr/channel/memory_names.h).
  constexpr uint64_t kSignBit = uint64_t{1} << 63;
  traces::MemoryReference reference{line * line_bytes_ & ~kSignBit, line_bytes_, traces::OperandKind::kLoad};
  if (access == MemoryAccess::kWrite) reference.kind = traces::OperandKind::kStore;
  if (access == MemoryAccess::kPrefetch && exporter_->tells_prefetches()) reference.kind = traces::OperandKind::kPrefetch;
  traces::InstructionRecord instruction;
  instruction.number = number_;
  instruction.thread = thread_;
  instruction.pc = pc_;
  instruction.references = {&reference, 1};
  try {
    exporter_->pass_instructions(number_ - passed_);
    passed_ = number_;
    exporter_->on_begun_string(instruction);
  } catch (const UserError& error) {
    failure_ = error.what();
  }
}

void MemoryTrace::finish(RunResult& result) {
  if (failure_.empty()) try {
      exporter_->finish();
      out_.finish();
    } catch (const UserError& error) {
      failure_ = error.what();
    }
  if (!failure_.empty()) {
    if (result.error.empty()) result.error = "--memory-trace: " + failure_;
    return;
  }
  const std::string left_out =
      exporter_->left_out() == 0 ? "" : fmt::format(" ({} of these have no place in the format)", grouped(exporter_->left_out()));
  result.memory_trace = fmt::format("{}: {} lines read, {} of them for prefetches, {} written{}; {} bytes before compression", path_,
                                    grouped(reads_ + prefetches_), grouped(prefetches_), grouped(writes_), left_out, grouped(out_.bytes()));
}

}  // namespace simrun::cli
