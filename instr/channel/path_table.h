// What one execution of a path touches, worked out once per path from the target's descriptors. Everything that can be
// wrong with a descriptor (counts, indices, words) is checked here, once, so that replaying a path checks nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "instr/channel/mapped_process.h"
#include "instr/channel/reference.h"

namespace simrun::channel {

// An operand that is not one plain sum. Expanded by special_operands.h when `position` plain references are done.
struct SpecialOperand {
  border::OperandDescriptor operand;
  uint32_t position;
  uint32_t interleaved;  // 1: this and the next are the two operands of a rep movs/cmps, interleaved per iteration
  uint64_t pc;           // of its instruction
};

// One load, store or modification at a sum and the base of FS.
inline bool is_plain_of_fs(const border::OperandDescriptor& o) {
  return o.form == border::OperandForm::kAddress && o.modifier == border::OperandModifier::kNone &&
         (o.flags & (border::kFsBase | border::kGsBase | border::kAddress32)) == border::kFsBase &&
         to_reference_kind(o.kind) <= ReferenceKind::kReadModifyWrite;
}

// One cache line.
struct alignas(64) DecodedPath {
  const Reference* references;  // the first is always a fetch
  const SpecialOperand* specials;
  const uint64_t* pcs;             // of the instruction of each reference; read only for sinks with kWantsPc
  uint64_t first_line, last_line;  // of its code, in execution order
  uint32_t reference_count;
  uint32_t instructions;
  // From here on what PathSums (replay.h) adds up, eight numbers at once.
  uint16_t words;  // address words
  uint16_t special_count;
  uint16_t fetches, loads, stores, prefetches, flushes;  // of the plain references; an RMW is in loads and in stores
  uint16_t modifications;                                // read-modify-writes among the plain references
};
static_assert(sizeof(DecodedPath) == 64);

// A decoded path that owns its arrays (a superblock cut short by a fault is decoded each time).
struct OwnedPath {
  DecodedPath path{};
  std::vector<Reference> references;
  std::vector<SpecialOperand> specials;
  std::vector<uint16_t> reference_instruction;
  std::vector<uint64_t> pcs;
  uint64_t next_pc = 0;  // decode_prefix: of the instruction that was next
};

// What the references of a path belong to, for sinks that want to know.
struct PathCode {
  struct Instruction {
    uint64_t pc;
    uint8_t length;
    uint8_t flags;  // border::InstructionFlags
  };
  std::vector<Instruction> instructions;
  std::vector<uint16_t> reference_instruction;  // of each of DecodedPath::references
  // Registers before the first instruction of a watched function, or before a return (border::OperandForm::kRegisters).
  // Index of the first word; border::kNoWord: none.
  uint16_t argument_words = border::kNoWord;
  uint16_t result_word = border::kNoWord;
};

class PathTable {
 public:
  // `line_bytes`: of an instruction line, a power of two. `process` must outlive this.
  PathTable(const MappedProcess& process, uint32_t line_bytes);
  ~PathTable();
  PathTable(const PathTable&) = delete;
  PathTable& operator=(const PathTable&) = delete;

  // Words that one execution of path `word` takes, its block word included; 0: it was not decoded yet (or is no path),
  // ask decode(). Apart from the rest of the path, two bytes each: where the next path starts depends on it, so its
  // load is the latency of the whole reader, and these stay in the first-level cache (counting gzip: from 17 to 4.2 ns
  // a path).
  uint32_t length(uint64_t word) const { return word < capacity_ ? lengths_[word] : 0; }
  // `word`: of a path whose length() is not 0.
  const DecodedPath& operator[](uint64_t word) const { return table_[word]; }
  // Decodes path `word` and remembers it. Throws StreamError when it is no path or its descriptors make no sense.
  const DecodedPath& decode(uint64_t word);

  // The first `instructions` of a path, of which the first `words` address words are at hand. When the instruction that
  // follows is a repeated string instruction, its operands are returned in `next_string` (0, 1 or 2).
  OwnedPath decode_prefix(uint64_t word, uint64_t instructions, uint64_t words,
                          std::vector<border::OperandDescriptor>* next_string) const;

  // Of a path that was decoded. Slow: to be asked once for each path.
  PathCode code(uint64_t word) const;

  const MappedProcess& process() const { return process_; }
  uint32_t line_bytes() const { return 1u << line_shift_; }
  size_t decoded() const { return decoded_; }

 private:
  struct Source;  // the descriptors of one path, checked
  Source source(uint64_t word) const;
  void add_operand(OwnedPath& to, const border::OperandDescriptor& operand, uint64_t pc, uint64_t id) const;
  void add_fetches(OwnedPath& to, uint64_t pc, uint32_t length, uint64_t id) const;
  OwnedPath build(const Source& source, uint32_t instructions, uint32_t words) const;
  template <class T>
  const T* keep(const std::vector<T>& items);

  const MappedProcess& process_;
  uint32_t line_shift_;
  uint64_t capacity_;
  DecodedPath* table_;  // mapped, zero pages until touched
  uint16_t* lengths_;   // likewise
  size_t decoded_ = 0;
  std::vector<std::unique_ptr<char[]>> arenas_;
  size_t arena_left_ = 0;
  char* arena_next_ = nullptr;
};

}  // namespace simrun::channel
