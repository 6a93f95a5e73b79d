// The descriptions of a live process's code, for a trace. The terms of instr/border and of traces/ are the same by design;
// this is the one place that relies on it.
#pragma once

#include <cstdint>
#include <vector>

#include "instr/channel/mapped_process.h"
#include "traces/descriptor_table.h"
#include "traces/record.h"

namespace simrun::cli {

// Superblock `s`, whose paths have at most `words` address words. Throws channel::StreamError when it does not hold together.
traces::Superblock copied_superblock(const channel::MappedProcess& process, const border::SuperblockDescriptor& s, uint32_t words);

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

}  // namespace simrun::cli
