// The calls that one thread is in, from the addresses at which calls store and returns load the return address: exact
// without unwind tables, through tail calls; `longjmp`, exceptions and switched stacks leave entries behind that the
// next call or return at a higher address removes. And the allocations that are going on in them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/memory/allocators.h"

namespace simrun::analysis {

struct FinishedAllocation {
  AllocatorKind kind;
  uint64_t arguments[3];
  uint64_t result;               // address of the block; 0: it failed
  std::vector<uint64_t> frames;  // return addresses, the innermost first
};

class CallStack {
 public:
  // A call stored `return_address` at `slot`.
  void call(uint64_t slot, uint64_t return_address) {
    drop_through(slot);
    if (entries_.size() == kMostEntries) entries_.erase(entries_.begin(), entries_.begin() + kMostEntries / 2);
    entries_.push_back({slot, return_address});
  }

  // An allocating or releasing function begins. False: within another one, whose business it is.
  bool enter(AllocatorKind kind, const uint64_t* arguments) {
    if (pending_ || entries_.empty()) return false;
    pending_ = Pending{kind, {arguments[0], arguments[1], arguments[2]}, entries_.back().slot, 0};
    return true;
  }

  // A return loaded its target from `slot`, with `result` in rax.
  std::optional<FinishedAllocation> finish(uint64_t slot, uint64_t result) {
    std::optional<FinishedAllocation> finished;
    if (pending_ && slot >= pending_->slot) {
      if (slot == pending_->slot) finished = take(result);
      pending_.reset();
    } else if (pending_ && result != 0 && pending_->kind == AllocatorKind::kByPointer && pending_->arguments[1] != 0 &&
               result % pending_->arguments[1] == 0) {
      pending_->inner_result = result;
    }
    drop_through(slot);
    return finished;
  }

  // Where the innermost call returns to; 0: none is known.
  uint64_t return_address() const { return entries_.empty() ? 0 : entries_.back().return_address; }

  // Return addresses, the innermost first.
  std::vector<uint64_t> frames(size_t most) const {
    std::vector<uint64_t> result;
    for (auto entry = entries_.rbegin(); entry != entries_.rend() && result.size() < most; ++entry)
      result.push_back(entry->return_address);
    return result;
  }

 private:
  static constexpr size_t kMostEntries = 4096;
  struct Entry {
    uint64_t slot, return_address;
  };
  struct Pending {
    AllocatorKind kind;
    uint64_t arguments[3];
    uint64_t slot;
    uint64_t inner_result;  // kByPointer: the last aligned value that a function within it returned
  };

  FinishedAllocation take(uint64_t result) const {
    const Pending& p = *pending_;
    if (p.kind == AllocatorKind::kByPointer) result = static_cast<uint32_t>(result) == 0 ? p.inner_result : 0;
    return {p.kind, {p.arguments[0], p.arguments[1], p.arguments[2]}, result, frames(kMostFrames)};
  }
  void drop_through(uint64_t slot) {
    while (!entries_.empty() && entries_.back().slot <= slot) entries_.pop_back();
  }

  static constexpr size_t kMostFrames = 8;
  std::vector<Entry> entries_;
  std::optional<Pending> pending_;
};

}  // namespace simrun::analysis
