// Instructions one by one into a writer: descriptions are made as they turn up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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
  struct Instruction {
    uint64_t pc = 0;
    uint8_t length = 0, flags = 0;
    std::span<const Reference> references;
    std::span<const uint8_t> code = {};  // empty: not known
    // Not 0: a repeated string instruction, whose references are those of the first iteration, one or two of the same size.
    uint64_t iterations = 0;
    bool runs_down = false;
  };

  explicit InstructionImporter(Writer& writer) : writer_(writer) {}
  // Numbered in order of the calls. Before a thread's instructions.
  void add_process(uint32_t pid);
  void add_thread(uint32_t process, uint32_t tid);
  void add_only_thread();  // of the only process
  // To the thread that was added last, or to this one.
  void continue_thread(uint32_t thread);

  void add(const Instruction& instruction);
  void add(uint64_t pc, uint8_t length, uint8_t flags, std::span<const Reference> references);
  // A repeated string instruction that was interrupted behind its iterations: it is not retired.
  void add_cut(const Instruction& instruction);
  void add_event(std::span<const uint64_t> words);
  // The words that are still held back.
  void finish() { flush(); }

 private:
  uint32_t path_of(const Instruction& i);
  uint32_t make_path(const Instruction& i);
  void flush();

  Writer& writer_;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> paths_;  // by process and shape
  std::string key_;
  std::vector<uint32_t> threads_;  // their processes
  uint32_t thread_ = 0;
  std::vector<uint64_t> words_;
  uint64_t held_ = 0;
};

}  // namespace simrun::traces
