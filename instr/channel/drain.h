// Throws the streams of a target away as fast as they come, or has the target do so (border::ProcessHeader::drops_streams): what tracing
// costs when nothing reads it. No order, no counts but words.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "instr/channel/mapped_process.h"
#include "instr/channel/merge.h"
#include "instr/channel/ring_reader.h"

namespace simrun::channel {

class Drain {
 public:
  explicit Drain(const MappedProcess& process);
  // Once over all slots. Same contract as Merge::advance.
  Status advance(bool alive);
  uint64_t words() const { return words_; }

 private:
  void empty(uint32_t slot, bool alive);
  uint64_t dropped_words() const;

  const MappedProcess& process_;
  std::vector<std::unique_ptr<RingReader>> readers_;  // by slot
  uint64_t words_ = 0;
  bool moved_ = false;
};

}  // namespace simrun::channel
