// What one execution of a path touches, worked out once per path from its descriptors. Everything that can be wrong with
// a descriptor (counts, indices, words) is checked here, once, so that replaying a path checks nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "instr/border/descriptors.h"
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

// The descriptors of one path and of its superblock.
struct PathSource {
  uint64_t id;
  uint64_t pc;  // of the superblock
  border::PathDescriptor path;
  std::span<const border::InstructionDescriptor> instructions;  // of the superblock
  std::span<const border::OperandDescriptor> operands;
};

// By path id, decoded when first asked for, from descriptors that a derived class has.
class DecodedPaths {
 public:
  virtual ~DecodedPaths();
  DecodedPaths(const DecodedPaths&) = delete;
  DecodedPaths& operator=(const DecodedPaths&) = delete;

  // Words that one execution of path `word` takes, its block word included; 0: it was not decoded yet (or is no path),
  // ask decode_length(). Apart from the rest of the path, two bytes each: where the next path starts depends on it, so
  // its load is the latency of the whole reader, and these stay in the first-level cache (counting gzip: from 17 to 4.2
  // ns a path).
  uint32_t length(uint64_t word) const { return word < capacity_ ? lengths_[word] : 0; }
  // `word`: of a path whose length() is not 0.
  const DecodedPath& operator[](uint64_t word) const { return table_[word]; }
  // Decodes path `word`, whose length() is 0, and returns that; 0: it is not for a loop over many paths. Throws
  // StreamError when it is no path or its descriptors make no sense.
  virtual uint32_t decode_length(uint64_t word) = 0;

  // What path ids mean from now on is another matter.
  void forget();

  uint64_t capacity() const { return capacity_; }  // numbers of paths are below it
  uint32_t line_bytes() const { return 1u << line_shift_; }
  size_t decoded() const { return decoded_; }

 protected:
  // `line_bytes`: of an instruction line, a power of two.
  DecodedPaths(uint64_t capacity, uint32_t line_bytes);

  // The first `instructions` with `words` address words. Throws StreamError.
  OwnedPath build(const PathSource& source, uint32_t instructions, uint32_t words) const;
  [[noreturn]] static void bad(uint64_t id, const std::string& what);
  static void check_length(const border::InstructionDescriptor& instruction, uint64_t id);
  static const char* problem(const border::OperandDescriptor& operand);  // null: none
  // A whole path, which is remembered.
  const DecodedPath& keep(const PathSource& source);

 private:
  void add_operand(OwnedPath& to, const border::OperandDescriptor& operand, uint64_t pc, uint64_t id) const;
  void add_fetches(OwnedPath& to, uint64_t pc, uint32_t length, uint64_t id) const;
  template <class T>
  const T* keep(const std::vector<T>& items);

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
