// What one execution of a path touches, worked out once: plain sums as 16-byte references, the rest as operands to be
// expanded. The counterpart of instr/channel/path_table.h, from a file.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "traces/descriptor_table.h"
#include "traces/record.h"

namespace simrun::traces {

enum class ReferenceKind : uint8_t {
  kFetch,
  kLoad,
  kStore,
  kReadModifyWrite,  // a load and a store in the totals
  kPrefetch,
  kFlush,
  kNonTemporalLoad,
  kNonTemporalStore,
};
constexpr ReferenceKind to_reference_kind(OperandKind kind) {
  return static_cast<ReferenceKind>(static_cast<uint8_t>(kind) + 1);
}

// address = word[a] + (word[b] << shift) + disp; word[0] is the path's id, which an absent word reads and `disp` takes back.
// kFetch: the number of a line.
struct PlainReference {
  int64_t disp;
  uint16_t a, b, bytes;
  uint8_t shift;
  ReferenceKind kind;
};
static_assert(sizeof(PlainReference) == 16);

inline constexpr uint64_t kNoLine = std::numeric_limits<uint64_t>::max();

// docs/stream.md defines each.
struct Counts {
  uint64_t instructions = 0, loads = 0, stores = 0, prefetches = 0, flushes = 0, fetch_lines = 0, paths = 0;
  uint64_t string_iterations = 0, syscalls = 0, signals = 0, cuts = 0, words = 0;
  Counts& operator+=(const Counts& other);
  bool operator==(const Counts&) const = default;
};
void count(Counts& to, ReferenceKind kind);

struct PathReferences {
  std::vector<PlainReference> plain;
  std::vector<uint64_t> pcs;  // of the instruction of each; read only for sinks with kWantsPc
  struct Special {
    uint32_t operand;   // of `operands`
    uint32_t position;  // plain references before it
    uint64_t pc;        // of its instruction
  };
  std::vector<Special> specials;
  std::vector<Operand> operands;
  uint64_t first_line = kNoLine, last_line = kNoLine;
  uint32_t words = 0;
  Counts counts;  // of one execution, specials left out
};

// The first `instructions` of superblock `view` with `words` address words, executed under the id `id`. Throws FormatError when
// an operand reads beyond them.
PathReferences make_references(const DescriptorTable::View& view, uint64_t id, uint32_t instructions, uint32_t words,
                               uint32_t line_shift);

// By path id, made when first asked for.
class PathReferenceTable {
 public:
  PathReferenceTable(const DescriptorTable& table, uint32_t line_bytes);
  const PathReferences& operator[](uint32_t id) {
    if (made_[id] == nullptr) [[unlikely]]
      make(id);
    return *made_[id];
  }
  uint32_t line_shift() const { return line_shift_; }
  const DescriptorTable& descriptors() const { return table_; }

 private:
  void make(uint32_t id);

  const DescriptorTable& table_;
  uint32_t line_shift_;
  std::vector<std::unique_ptr<PathReferences>> made_;
};

}  // namespace simrun::traces
