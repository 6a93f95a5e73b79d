#include "instr/channel/decoded_paths.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/tile_configuration.h"
#include "base/user_error.h"
#include "instr/channel/stream_error.h"
#include "instr/channel/thread_statistics.h"

namespace simrun::channel {

using namespace border;

namespace {

constexpr uint64_t kNoLine = std::numeric_limits<uint64_t>::max();

bool is_plain(const OperandDescriptor& o) {
  return o.form == OperandForm::kAddress && o.modifier == OperandModifier::kNone &&
         (o.flags & (kFsBase | kGsBase | kAddress32)) == 0 && o.size <= std::numeric_limits<uint16_t>::max();
}

uint32_t words_of_vector(uint32_t lanes, uint32_t lane_bytes) { return (lanes * lane_bytes + 7) / 8; }

// Words that the operand reads starting at word_b (index vector) and word_c (mask, register after, component mask).
uint32_t span_b(const OperandDescriptor& o) {
  if (o.form == OperandForm::kRegisters) return o.lanes;
  return o.form == OperandForm::kVectorIndex ? words_of_vector(o.lanes, o.index_bytes) : 1;
}
uint32_t span_c(const OperandDescriptor& o) {
  switch (o.form) {
    case OperandForm::kVectorIndex:
    case OperandForm::kMasked:
      return o.mask_lane == 0 ? 1 : words_of_vector(o.lanes, o.mask_lane);
    case OperandForm::kXsave:
      return 2;
    case OperandForm::kTile:
      return kTileWords;
    default:
      return 1;
  }
}

bool word_fits(uint16_t first, uint32_t count, uint32_t words, bool may_be_absent) {
  if (first == kNoWord) return may_be_absent;
  return first >= 1 && first + count - 1 <= words;
}

// All words that the operand reads are among the first `words` address words (numbered from 1).
bool words_fit(const OperandDescriptor& o, uint32_t words) {
  if (!word_fits(o.word_a, 1, words, true)) return false;
  const bool b_is_optional = o.form != OperandForm::kVectorIndex && o.form != OperandForm::kRepeatString;
  if (!word_fits(o.word_b, span_b(o), words, b_is_optional)) return false;
  const bool no_third = o.form == OperandForm::kRegisters ||
                        (o.form == OperandForm::kAddress && o.modifier != OperandModifier::kBitOffset);
  return no_third || word_fits(o.word_c, span_c(o), words, false);
}

void count_plain(DecodedPath& path, ReferenceKind kind) {
  ThreadStatistics one;
  count_reference(one, kind);
  path.loads += static_cast<uint16_t>(one.loads);
  path.stores += static_cast<uint16_t>(one.stores);
  path.prefetches += static_cast<uint16_t>(one.prefetches);
  path.flushes += static_cast<uint16_t>(one.flushes);
  path.modifications += kind == ReferenceKind::kReadModifyWrite;
}

size_t table_bytes(uint64_t capacity) { return (capacity + 1) * (sizeof(DecodedPath) + sizeof(uint16_t)); }

}  // namespace

[[noreturn]] void DecodedPaths::bad(uint64_t id, const std::string& what) { throw StreamError(fmt::format("path {}: {}", id, what)); }

void DecodedPaths::check_length(const InstructionDescriptor& instruction, uint64_t id) {
  if (instruction.length == 0 || instruction.length > 15) bad(id, "length of an instruction");
}

const char* DecodedPaths::problem(const OperandDescriptor& o) {
  if (o.kind > OperandKind::kNonTemporalStore) return "unknown kind of operand";
  if (o.form > OperandForm::kTile) return "unknown form of operand";
  if (o.modifier > OperandModifier::kByteIndex) return "unknown modifier of an operand";
  if (o.shift > 3) return "shift above 3";
  if (o.modifier == OperandModifier::kBitOffset && (!std::has_single_bit(o.size) || o.size > 8))
    return "operand of a bit offset";
  if (o.size == 0 && o.form != OperandForm::kXsave) return "operand of size 0";
  if (o.size > 1u << 20) return "operand of more than 1 MiB";
  if (o.form == OperandForm::kTile && o.lanes >= kTiles) return "number of a tile";
  if (o.form != OperandForm::kVectorIndex && o.form != OperandForm::kMasked && o.form != OperandForm::kRegisters)
    return nullptr;
  if (o.lanes == 0 || o.lanes > 64) return "number of lanes";
  if (o.form == OperandForm::kVectorIndex && o.index_bytes != 4 && o.index_bytes != 8) return "bytes of an index";
  if (o.mask_lane != 0 && (!std::has_single_bit(o.mask_lane) || o.mask_lane > 8)) return "bytes of a mask lane";
  return nullptr;
}

DecodedPaths::DecodedPaths(uint64_t capacity, uint32_t line_bytes)
    : line_shift_(static_cast<uint32_t>(std::countr_zero(line_bytes))), capacity_(capacity) {
  CHECK(std::has_single_bit(line_bytes));
  void* memory =
      mmap(nullptr, table_bytes(capacity_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw UserError(fmt::format("no address space for {} decoded paths", capacity_));
  table_ = static_cast<DecodedPath*>(memory);
  lengths_ = reinterpret_cast<uint16_t*>(table_ + capacity_);
}

DecodedPaths::~DecodedPaths() { munmap(table_, table_bytes(capacity_)); }

void DecodedPaths::forget() {
  madvise(table_, table_bytes(capacity_), MADV_DONTNEED);  // zeros again
  arenas_.clear();
  arena_left_ = 0;
  decoded_ = 0;
}

void DecodedPaths::add_fetches(OwnedPath& to, uint64_t pc, uint32_t length, uint64_t id) const {
  const uint64_t last = (pc + length - 1) >> line_shift_;
  for (uint64_t line = pc >> line_shift_; line <= last; ++line) {
    if (line == to.path.last_line) continue;
    if (to.path.first_line == kNoLine) to.path.first_line = line;
    to.path.last_line = line;
    ++to.path.fetches;
    to.references.push_back({static_cast<int64_t>(line - 2 * id), 0, 0, static_cast<uint16_t>(1u << line_shift_), 0,
                             ReferenceKind::kFetch});
    to.pcs.push_back(pc);
  }
}

void DecodedPaths::add_operand(OwnedPath& to, const OperandDescriptor& o, uint64_t pc, uint64_t id) const {
  if (o.form == OperandForm::kRegisters) return;
  if (!is_plain(o)) {
    to.specials.push_back({o, static_cast<uint32_t>(to.references.size()), 0, pc});
    return;
  }
  // word[0] is the id: an absent word reads it, and the displacement takes it back.
  uint64_t disp = static_cast<uint64_t>(o.disp);
  if (o.word_a == kNoWord) disp -= id;
  if (o.word_b == kNoWord) disp -= id;
  const auto index = [](uint16_t word) { return word == kNoWord ? uint16_t{0} : word; };
  const auto shift = static_cast<uint8_t>(o.word_b == kNoWord ? 0 : o.shift);
  to.references.push_back({static_cast<int64_t>(disp), index(o.word_a), index(o.word_b), static_cast<uint16_t>(o.size),
                           shift, to_reference_kind(o.kind)});
  to.pcs.push_back(pc);
  count_plain(to.path, to_reference_kind(o.kind));
}

OwnedPath DecodedPaths::build(const PathSource& s, uint32_t instructions, uint32_t words) const {
  OwnedPath made;
  made.path.first_line = made.path.last_line = kNoLine;
  uint32_t operand = 0;
  for (uint32_t i = 0; i < instructions; ++i) {
    const InstructionDescriptor& instruction = s.instructions[i];
    check_length(instruction, s.id);
    const uint64_t pc = s.pc + static_cast<uint64_t>(static_cast<int64_t>(instruction.offset));
    add_fetches(made, pc, instruction.length, s.id);
    const uint32_t first = operand;
    for (; operand < s.operands.size() && s.operands[operand].instruction == i; ++operand) {
      const OperandDescriptor o = s.operands[operand];
      if (const char* what = problem(o)) bad(s.id, what);
      if (!words_fit(o, words))
        bad(s.id, fmt::format("operand {} reads words beyond the {} of the path", operand, words));
      add_operand(made, o, pc, s.id);
    }
    made.reference_instruction.resize(made.references.size(), static_cast<uint16_t>(i));
    const bool repeats = operand - first == 2 && s.operands[first].form == OperandForm::kRepeatString;
    if (repeats && s.operands[first + 1].form == OperandForm::kRepeatString)
      made.specials[made.specials.size() - 2].interleaved = 1;
  }
  made.path.references = made.references.data();
  made.path.reference_count = static_cast<uint32_t>(made.references.size());
  made.path.specials = made.specials.data();
  made.path.pcs = made.pcs.data();
  made.path.special_count = static_cast<uint16_t>(made.specials.size());
  made.path.instructions = instructions;
  made.path.words = static_cast<uint16_t>(words);
  return made;
}

const DecodedPath& DecodedPaths::keep(const PathSource& s) {
  OwnedPath made = build(s, s.path.instructions, s.path.words);
  const auto belongs = [&](const OperandDescriptor& o) { return o.instruction < s.path.instructions; };
  if (!std::all_of(s.operands.begin(), s.operands.begin() + s.path.operands, belongs) ||
      (s.path.operands < s.operands.size() && belongs(s.operands[s.path.operands])))
    bad(s.id, "operands and instructions do not end together");
  made.path.references = keep(made.references);
  made.path.specials = keep(made.specials);
  made.path.pcs = keep(made.pcs);
  ++decoded_;
  lengths_[s.id] = static_cast<uint16_t>(1 + made.path.words);
  return table_[s.id] = made.path;
}

template <class T>
const T* DecodedPaths::keep(const std::vector<T>& items) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0);
  constexpr size_t kArenaBytes = 1 << 20;
  const size_t bytes = items.size() * sizeof(T);
  if (bytes == 0) return nullptr;
  if (bytes > arena_left_) {
    arena_left_ = std::max(bytes, kArenaBytes);
    arenas_.push_back(std::make_unique<char[]>(arena_left_));
    arena_next_ = arenas_.back().get();
  }
  T* kept = reinterpret_cast<T*>(arena_next_);
  std::memcpy(kept, items.data(), bytes);
  arena_next_ += bytes;
  arena_left_ -= bytes;
  return kept;
}

}  // namespace simrun::channel
