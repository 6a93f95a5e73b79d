// The descriptions of a live process's code, for a trace, and back. The terms of instr/border and of traces/ are the same by
// design; this is the one place that relies on it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "instr/channel/mapped_process.h"
#include "traces/descriptor_table.h"
#include "traces/record.h"

namespace simrun::cli {

// Superblock `s`, whose paths have at most `words` address words. Throws channel::StreamError when it does not hold together.
traces::Superblock copied_superblock(const channel::MappedProcess& process, const border::SuperblockDescriptor& s, uint32_t words);

border::OperandDescriptor engine_operand(const traces::Operand& operand);

class DescriptorCopier {
 public:
  DescriptorCopier(const channel::MappedProcess& process, traces::DescriptorTable& table)
      : process_(process), table_(table) {}

  // Copies what was published since the last call. Called before words that may use it: one load when there is nothing
  // new. Throws channel::StreamError for descriptors that do not hold together.
  void update() {
    if (const uint32_t paths = process_.paths(); paths != table_.paths()) [[unlikely]]
      copy(paths);
  }

 private:
  void copy(uint32_t paths);
  const channel::MappedProcess& process_;
  traces::DescriptorTable& table_;
};

// The descriptions of the code that is used, under numbers of their own: for files that hold a small part of a run.
class DescriptorSelection {
 public:
  // The number of a path in `table`, which gets its superblock with all its paths when that is new. One selection for
  // each process and table. Throws channel::StreamError.
  uint32_t number(uint32_t path, const channel::MappedProcess& process, traces::DescriptorTable& table) {
    if (path < numbers_.size() && numbers_[path] != 0) [[likely]]
      return numbers_[path];
    return add(path, process, table);
  }
  // The words of a path or an event with the number that they name in `table`.
  void renumber(std::span<uint64_t> words, const channel::MappedProcess& process, traces::DescriptorTable& table);

 private:
  uint32_t add(uint32_t path, const channel::MappedProcess& process, traces::DescriptorTable& table);
  std::vector<uint32_t> numbers_;  // by path of the process; 0: not in the table
};

}  // namespace simrun::cli
