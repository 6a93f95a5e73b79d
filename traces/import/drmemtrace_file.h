// One file of drmemtrace, as instructions with what belongs to them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/export/compressed_file.h"
#include "traces/export/drmemtrace_record.h"
#include "traces/import/instruction_importer.h"

namespace simrun::traces::drmemtrace {

// What has no place in a trace of simrun, of all files.
struct PassedOver {
  uint64_t kernel_instructions = 0;
  uint64_t filtered_instructions = 0;   // before the end of filtering
  uint64_t references = 0;              // before any instruction, or more than one instruction can have
  uint64_t irregular_references = 0;    // of iterations that do not follow on the one before
  uint64_t interrupted_references = 0;  // of instructions that were not retired
  uint64_t hardware_prefetches = 0;
  uint64_t function_markers = 0, unknown_markers = 0;
  uint64_t windows = 0;                 // after which control goes on elsewhere
  uint64_t gaps = 0;                    // where it does, and nothing says why
  uint64_t files_without_data = 0;
  uint64_t unknown_file_types = 0;      // bits
};

// An instruction, or none, and the events behind it.
struct Unit {
  uint64_t pid = 0, tid = 0, timestamp = 0;
  bool has_instruction = false, is_retired = true;
  uint64_t pc = 0;
  uint8_t length = 0, flags = 0;
  bool has_code = false;
  std::array<uint8_t, 15> code{};
  std::vector<InstructionImporter::Reference> references;  // of the first iteration
  uint64_t iterations = 0;                                 // 0: no repeated string instruction
  bool runs_down = false;
  std::vector<uint64_t> events;  // words, one event behind the other
};

class File {
 public:
  // Reads the header. Throws UserError, TraceError; so does next().
  File(const std::string& path, PassedOver& passed_over);
  // False: the file is at its end.
  bool next();
  const Unit& unit() const { return unit_; }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  struct Code {
    std::array<uint8_t, 15> bytes;
    uint8_t length;
    uint8_t flags;  // that the bytes tell
  };

  bool read(Record* record);
  void take(const Record& r);
  void marker(Marker kind, uint64_t value);
  void header(uint64_t version);
  void check_version(uint64_t version) const;
  void set_file_type(uint64_t type);
  void instruction(Type type, uint64_t pc, uint32_t length);
  void iteration(uint64_t pc, uint32_t length);
  void end_iteration();
  void describe(Type type, uint32_t length);
  void encoding(const Record& r);
  void keep_encoding(uint64_t pc);
  void reference(OperandKind kind, uint64_t address, uint64_t bytes);
  void flush_reference(const Record& r);
  void kernel_event(uint64_t value);
  void syscall(uint64_t number);
  void window(uint64_t number);
  void event(Event event, std::initializer_list<uint64_t> payload);
  bool is_passed_over() const { return in_kernel_ || is_filtered_; }
  bool can_repeat() const;
  void merge_modifies();
  void look_where_it_goes(std::optional<uint64_t> next_pc);
  void complete(std::optional<uint64_t> next_pc);

  CompressedInput in_;
  PassedOver& passed_over_;
  uint64_t record_start_ = 0;
  uint64_t version_ = 0, file_type_ = 0;
  bool is_filtered_ = false, in_kernel_ = false, has_footer_ = false;

  uint64_t pid_ = 0, tid_ = 0, timestamp_ = 0;
  std::unordered_map<uint64_t, uint64_t> processes_;  // of threads
  std::optional<uint64_t> window_;
  std::unordered_map<uint64_t, Code> codes_;  // by pc
  std::vector<uint8_t> encoding_;             // of the next instruction, so far
  Record bundle_{};                           // not all of it was taken
  unsigned bundle_at_ = 0;
  Type last_type_ = Type::kInstruction;
  uint64_t next_pc_ = 0;  // behind the last instruction
  std::optional<uint64_t> flush_start_;

  Unit pending_, unit_;
  bool is_ready_ = false;
  bool goes_elsewhere_ = false;  // behind pending_, and the trace says why
  bool is_irregular_ = false;    // an iteration of pending_ was passed over
  std::vector<InstructionImporter::Reference> iteration_;  // the references of this one
  uint64_t further_iterations_ = 0;
};

}  // namespace simrun::traces::drmemtrace
