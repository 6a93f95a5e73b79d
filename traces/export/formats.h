// Other simulators' traces: what they are called, and what writes them. docs/trace-conversion.md describes each.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "traces/export/compressed_file.h"
#include "traces/instruction_walk.h"

namespace simrun::traces {

class Exporter : public Visitor {
 public:
  // After the last instruction.
  virtual void finish() {}
  // References that the format has no room for.
  virtual uint64_t left_out() const { return left_out_; }
  // Of a format that can be filtered: an instruction whose fetch is left out; how many bytes from its address on a reader takes a
  // reference of `bytes` bytes to have.
  virtual bool on_unfetched(const InstructionRecord& i) { return on_instruction(i); }
  virtual uint32_t bytes_seen(uint32_t bytes) const { return bytes; }
  // Of a format that takes references alone, which come as those of begun strings: how many instructions without any lie between
  // them; whether prefetches have a word of their own.
  virtual void pass_instructions(uint64_t /*count*/) {}
  virtual bool tells_prefetches() const { return false; }
  bool on_begun_string(const InstructionRecord& i) override {
    left_out_ += i.references.size();
    return true;
  }

 protected:
  uint64_t left_out_ = 0;
};

struct ExportOptions {
  bool count_iterations = false;  // champsim: a record for each iteration of a repeated string instruction
  bool all_code_is_known = true;  // drmemtrace: its type promises encodings
  bool behind_caches = false;     // references are what caches ask of memory: a line that is written need not be read
};

struct ExportFormat {
  const char* name;
  const char* ending;  // of a file that nobody named
  const char* summary;
  std::unique_ptr<Exporter> (*make)(CompressedOutput& out, const ExportOptions& options);
  bool single_thread = false;  // the format knows no threads: one has to be chosen when there are several
  bool takes_references_alone = false;
  bool whole_areas = false;    // WalkOptions::whole_areas
  bool one_memory = false;     // does not say who makes a reference: several processes' addresses cannot be told apart
  bool can_be_filtered = false;  // a list of fetches and references, for caches alone (reference_filter.h)
};
std::span<const ExportFormat> export_formats();

// Of all processes, or (not negative) of one: ExportOptions::all_code_is_known.
bool all_code_is_known(const Reader& trace, int64_t only_process);

std::unique_ptr<Exporter> make_champsim_exporter(CompressedOutput& out, const ExportOptions& options);
std::unique_ptr<Exporter> make_din_exporter(CompressedOutput& out, const ExportOptions& options);
std::unique_ptr<Exporter> make_drmemtrace_exporter(CompressedOutput& out, const ExportOptions& options);
std::unique_ptr<Exporter> make_ramulator_load_store_exporter(CompressedOutput& out, const ExportOptions& options);
std::unique_ptr<Exporter> make_ramulator_o3_exporter(CompressedOutput& out, const ExportOptions& options);
std::unique_ptr<Exporter> make_dramsim3_exporter(CompressedOutput& out, const ExportOptions& options);
std::unique_ptr<Exporter> make_gem5_exporter(CompressedOutput& out, const ExportOptions& options);
std::unique_ptr<Exporter> make_csv_exporter(CompressedOutput& out, const ExportOptions& options);
std::unique_ptr<Exporter> make_text_exporter(CompressedOutput& out, const ExportOptions& options);

// What a reference does to memory.
constexpr bool reads(OperandKind k) {
  return k == OperandKind::kLoad || k == OperandKind::kReadModifyWrite || k == OperandKind::kNonTemporalLoad;
}
constexpr bool writes(OperandKind k) {
  return k == OperandKind::kStore || k == OperandKind::kReadModifyWrite || k == OperandKind::kNonTemporalStore;
}

}  // namespace simrun::traces
