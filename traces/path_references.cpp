#include "traces/path_references.h"

#include <bit>

#include "base/check.h"

namespace simrun::traces {

namespace {

bool is_plain(const Operand& o) {
  return o.form == OperandForm::kAddress && o.modifier == OperandModifier::kNone &&
         (o.flags & (kFsBase | kGsBase | kAddress32)) == 0 && o.size <= std::numeric_limits<uint16_t>::max();
}

void add_fetches(PathReferences& to, uint64_t pc, uint32_t length, uint64_t id, uint32_t line_shift) {
  const uint64_t last = (pc + length - 1) >> line_shift;
  for (uint64_t line = pc >> line_shift; line <= last; ++line) {
    if (line == to.last_line) continue;
    if (to.first_line == kNoLine) to.first_line = line;
    to.last_line = line;
    ++to.counts.fetch_lines;
    to.plain.push_back({static_cast<int64_t>(line - 2 * id), 0, 0, static_cast<uint16_t>(1u << line_shift), 0,
                        ReferenceKind::kFetch});
    to.pcs.push_back(pc);
  }
}

void add_operand(PathReferences& to, const Operand& o, uint64_t pc, uint64_t id) {
  if (!is_plain(o)) {
    to.specials.push_back({static_cast<uint32_t>(to.operands.size()), static_cast<uint32_t>(to.plain.size()), pc});
    to.operands.push_back(o);
    return;
  }
  auto disp = static_cast<uint64_t>(o.disp);
  if (o.word_a == kNoWord) disp -= id;
  if (o.word_b == kNoWord) disp -= id;
  const auto index = [](uint16_t word) { return word == kNoWord ? uint16_t{0} : word; };
  const auto shift = static_cast<uint8_t>(o.word_b == kNoWord ? 0 : o.shift);
  const ReferenceKind kind = to_reference_kind(o.kind);
  to.plain.push_back({static_cast<int64_t>(disp), index(o.word_a), index(o.word_b), static_cast<uint16_t>(o.size), shift,
                      kind});
  to.pcs.push_back(pc);
  count(to.counts, kind);
}

}  // namespace

Counts& Counts::operator+=(const Counts& o) {
  instructions += o.instructions;
  loads += o.loads;
  stores += o.stores;
  prefetches += o.prefetches;
  flushes += o.flushes;
  fetch_lines += o.fetch_lines;
  paths += o.paths;
  string_iterations += o.string_iterations;
  syscalls += o.syscalls;
  signals += o.signals;
  cuts += o.cuts;
  words += o.words;
  return *this;
}

void count(Counts& to, ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::kFetch:
      ++to.fetch_lines;
      break;
    case ReferenceKind::kLoad:
    case ReferenceKind::kNonTemporalLoad:
      ++to.loads;
      break;
    case ReferenceKind::kStore:
    case ReferenceKind::kNonTemporalStore:
      ++to.stores;
      break;
    case ReferenceKind::kReadModifyWrite:
      ++to.loads, ++to.stores;
      break;
    case ReferenceKind::kPrefetch:
      ++to.prefetches;
      break;
    case ReferenceKind::kFlush:
      ++to.flushes;
      break;
  }
}

PathReferences make_references(const DescriptorTable::View& view, uint64_t id, uint32_t instructions, uint32_t words,
                               uint32_t line_shift) {
  PathReferences made;
  size_t operand = 0;
  for (uint32_t i = 0; i < instructions; ++i) {
    const StaticInstruction& instruction = view.instructions[i];
    const uint64_t pc = view.pc + static_cast<uint64_t>(int64_t{instruction.offset});
    add_fetches(made, pc, instruction.length, id, line_shift);
    for (; operand < view.operands.size() && view.operands[operand].instruction == i; ++operand) {
      if (!words_fit(view.operands[operand], words)) throw FormatError("an operand reads words beyond its path");
      add_operand(made, view.operands[operand], pc, id);
    }
  }
  made.counts.paths = 1;
  made.counts.instructions = instructions;
  made.counts.words = words + 1;
  made.words = words;
  return made;
}

PathReferenceTable::PathReferenceTable(const DescriptorTable& table, uint32_t line_bytes)
    : table_(table), line_shift_(static_cast<uint32_t>(std::countr_zero(line_bytes))), made_(table.paths()) {
  CHECK(std::has_single_bit(line_bytes) && line_bytes <= 1u << 15);
}

void PathReferenceTable::make(uint32_t id) {
  const Path& p = table_.path(id);
  made_[id] = std::make_unique<PathReferences>(
      make_references(table_.superblock(p.superblock), id, p.instructions, p.words, line_shift_));
}

}  // namespace simrun::traces
