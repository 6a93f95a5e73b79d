// The paths of a running process, from its descriptors in shared memory.
#pragma once

#include <cstdint>
#include <vector>

#include "instr/channel/decoded_paths.h"
#include "instr/channel/mapped_process.h"

namespace simrun::channel {

struct PathInstruction {
  uint64_t pc;
  uint8_t length;
  uint8_t flags;  // border::InstructionFlags
};

// What the references of a path belong to, for sinks that want to know.
struct PathCode {
  std::vector<PathInstruction> instructions;
  std::vector<uint16_t> reference_instruction;  // of each of DecodedPath::references
  // Registers before the first instruction of a watched function, or before a return (border::OperandForm::kRegisters).
  // Index of the first word; border::kNoWord: none.
  uint16_t argument_words = border::kNoWord;
  uint16_t result_word = border::kNoWord;
};

class PathTable final : public DecodedPaths {
 public:
  // `process` must outlive this.
  PathTable(const MappedProcess& process, uint32_t line_bytes);

  // Decodes path `word` and remembers it. Throws StreamError when it is no path or its descriptors make no sense.
  const DecodedPath& decode(uint64_t word);
  uint32_t decode_length(uint64_t word) override { return 1 + decode(word).words; }

  // The first `instructions` of a path, of which the first `words` address words are at hand. When the instruction that
  // follows is a repeated string instruction, its operands are returned in `next_string` (0, 1 or 2).
  OwnedPath decode_prefix(uint64_t word, uint64_t instructions, uint64_t words,
                          std::vector<border::OperandDescriptor>* next_string) const;

  // Slow: to be asked once for each path. Throws StreamError, as decode does.
  std::vector<PathInstruction> instructions(uint64_t word) const;
  // The same of a path that was decoded.
  PathCode code(uint64_t word) const;

  const MappedProcess& process() const { return process_; }

 private:
  PathSource source(uint64_t word) const;  // checked

  const MappedProcess& process_;
};

}  // namespace simrun::channel
