// The code of a process in a trace, as the mapping of a live one would have it: so that what looks at live streams can
// look at recorded ones. The one place that knows how to turn the terms of traces/ into those of instr/border
// (cli/trace_descriptors.h has the other way).
#pragma once

#include <cstddef>
#include <memory>

#include "instr/channel/mapped_process.h"
#include "traces/descriptor_table.h"

namespace simrun::cli {

class StoredProcess {
 public:
  // Paths keep their numbers. Throws UserError when there is no memory.
  explicit StoredProcess(const traces::DescriptorTable& table);
  ~StoredProcess();
  StoredProcess(const StoredProcess&) = delete;
  StoredProcess& operator=(const StoredProcess&) = delete;

  const channel::MappedProcess& mapped() const { return *mapped_; }

 private:
  void fill(const traces::DescriptorTable& table);

  size_t bytes_ = 0;
  char* memory_ = nullptr;
  std::unique_ptr<channel::MappedProcess> mapped_;
};

}  // namespace simrun::cli
