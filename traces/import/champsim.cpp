#include <optional>

#include "traces/export/champsim_record.h"
#include "traces/export/compressed_file.h"
#include "traces/import/formats.h"
#include "traces/import/instruction_importer.h"

namespace simrun::traces {

namespace {

constexpr uint8_t kUnknownLength = 4;   // nor lengths: they follow from the next instruction where control falls through
constexpr uint8_t kShortBranch = 2;

template <size_t kCount>
bool has(const uint8_t (&set)[kCount], uint8_t id) {
  for (const uint8_t entry : set)
    if (entry == id) return true;
  return false;
}

bool reads_other(const ChampsimRecord& r) {
  for (const uint8_t id : r.source_registers)
    if (id != 0 && id != kChampsimStackPointer && id != kChampsimFlags && id != kChampsimInstructionPointer) return true;
  return false;
}

// As ChampSim's inc/instruction.h infers it: from the registers alone, whatever is_branch says.
uint8_t flags_of(const ChampsimRecord& r) {
  if (!has(r.destination_registers, kChampsimInstructionPointer)) return 0;
  const bool uses_sp = has(r.source_registers, kChampsimStackPointer);
  const bool moves_sp = uses_sp && has(r.destination_registers, kChampsimStackPointer);
  const bool reads_flags = has(r.source_registers, kChampsimFlags);
  const bool reads_ip = has(r.source_registers, kChampsimInstructionPointer);
  const uint8_t indirect = reads_other(r) ? kIndirect : 0;
  if (!uses_sp && !reads_flags && (indirect == 0 || !reads_ip)) return kEndsBlock | indirect;
  if (moves_sp && !reads_ip) return kEndsBlock | kReturn | kIndirect;
  if (moves_sp && !reads_flags) return kEndsBlock | kCall | indirect;
  return kEndsBlock | kConditional;  // or of another kind (BRANCH_OTHER), of which it is recorded, too, whether it is taken
}

uint8_t length_of(const ChampsimRecord& r, uint8_t flags, const std::optional<ChampsimRecord>& next) {
  constexpr uint64_t kLongest = 15;
  const bool falls_through = flags == 0 || ((flags & kConditional) != 0 && r.branch_taken == 0);
  // A branch that is taken must not end where it goes: it would be one that is not taken.
  if (next && !falls_through && next->ip - r.ip == kUnknownLength) return kShortBranch;
  if (!next || !falls_through || next->ip - r.ip == 0 || next->ip - r.ip > kLongest) return kUnknownLength;
  return static_cast<uint8_t>(next->ip - r.ip);
}

// ChampSim records no sizes, and each line that is touched by itself: 8 bytes, as far as the line goes.
uint32_t bytes_at(uint64_t address) {
  constexpr uint64_t kLine = 64, kUsual = 8;
  return static_cast<uint32_t>(std::min(kUsual, kLine - address % kLine));
}

}  // namespace

ImportNotes import_champsim(const std::string& path, Writer& writer) {
  CompressedInput in(path);
  InstructionImporter to(writer);
  to.add_only_thread();
  const auto read = [&]() -> std::optional<ChampsimRecord> {
    ChampsimRecord record;
    const uint64_t offset = in.offset();
    const size_t got = in.read(&record, sizeof record);
    if (got != 0 && got != sizeof record) throw TraceError(path, offset, "the file ends amid a record of 64 bytes");
    if (got != 0 && (record.is_branch > 1 || record.branch_taken > 1))
      throw TraceError(path, offset, "no ChampSim record: is_branch and branch_taken must be 0 or 1");
    return got == 0 ? std::nullopt : std::optional(record);
  };
  std::vector<InstructionImporter::Reference> references;
  for (std::optional<ChampsimRecord> now = read(), next; now; now = next) {
    next = read();
    references.clear();
    for (const uint64_t address : now->source_memory)
      if (address != 0) references.push_back({OperandKind::kLoad, bytes_at(address), address});
    for (const uint64_t address : now->destination_memory)
      if (address != 0) references.push_back({OperandKind::kStore, bytes_at(address), address});
    const uint8_t flags = flags_of(*now);
    to.add(now->ip, length_of(*now, flags, next), flags, references);
  }
  to.finish();
  return {};
}

}  // namespace simrun::traces
