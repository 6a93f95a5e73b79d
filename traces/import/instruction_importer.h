// Instructions one by one into a writer: descriptions are made as they turn up.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "traces/writer.h"

namespace simrun::traces {

class InstructionImporter {
 public:
  struct Reference {
    OperandKind kind;
    uint32_t bytes;
    uint64_t address;
  };

  explicit InstructionImporter(Writer& writer);
  void add(uint64_t pc, uint8_t length, uint8_t flags, std::span<const Reference> references);
  // The words that are still held back.
  void finish() { flush(); }

 private:
  using Shape = std::tuple<uint64_t, uint8_t, uint8_t, std::vector<std::pair<OperandKind, uint32_t>>>;
  uint32_t path_of(uint64_t pc, uint8_t length, uint8_t flags, std::span<const Reference> references);
  void flush();

  Writer& writer_;
  std::map<Shape, uint32_t> paths_;
  std::vector<uint64_t> words_;
  uint64_t held_ = 0;
};

}  // namespace simrun::traces
