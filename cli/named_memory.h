// The names that a model hears instead of addresses, once processes share memory (docs/shared-memory.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "instr/channel/memory_names.h"
#include "instr/channel/thread_statistics.h"
#include "instr/host/family.h"

namespace simrun::cli {

class NamedMemory {
 public:
  // `family`: whose processes they are, started with LaunchOptions::name_memory or a watch; it must outlive this. Null:
  // every process has memory of its own.
  explicit NamedMemory(const host::Family* family) : family_(family) {}

  // `names`: kept up to date by somebody else.
  explicit NamedMemory(channel::MemoryNames& names) : family_(nullptr), kept_(&names) {}

  void start_thread(const channel::ThreadReport& thread) {
    if (family_ == nullptr || names_.knows(thread.process)) return;
    const host::Family::Birth& birth = family_->birth(thread.process);
    if (birth.is_copy)
      names_.add_copy(thread.process, birth.parent);
    else
      names_.add_image(thread.process, family_->first_files(thread.process));
  }
  void event(uint32_t process, border::Event event, std::span<const uint64_t> payload) {
    if (family_ != nullptr) names_.event(process, event, payload);
  }
  void forget_process(uint32_t process) { names_.forget(process); }

  // Whether they are to be used or not.
  channel::MemoryNames& all_names() { return kept_ != nullptr ? *kept_ : names_; }
  // Null while names and addresses are the same, or there is no family.
  channel::MemoryNames* names() {
    if (kept_ != nullptr) return kept_->is_plain() ? nullptr : kept_;
    return family_ == nullptr || names_.is_plain() ? nullptr : &names_;
  }

 private:
  const host::Family* family_;
  channel::MemoryNames* kept_ = nullptr;
  channel::MemoryNames names_;
};

// A reference to [address, address + bytes) in as many pieces as have different distances: put(name, bytes, distance,
// whether it goes on with what the piece before began).
template <class Put>
void for_each_piece(channel::MemoryNames& names, uint32_t process, uint64_t address, uint32_t bytes, bool write,
                    Put&& put) {
  using channel::MemoryNames;
  uint64_t distance = names.distance(process, address, write);
  const auto left_in_page = static_cast<uint32_t>(MemoryNames::kPageBytes - address % MemoryNames::kPageBytes);
  if (bytes <= left_in_page) [[likely]]
    return put(address + distance, bytes, distance, false);
  uint32_t done = 0;
  for (uint32_t upto = left_in_page; upto < bytes;) {
    const uint64_t next = names.distance(process, address + upto, write);
    if (next != distance) {
      put(address + done + distance, upto - done, distance, done != 0);
      done = upto;
      distance = next;
    }
    upto = static_cast<uint32_t>(std::min<uint64_t>(bytes, upto + MemoryNames::kPageBytes));
  }
  put(address + done + distance, bytes - done, distance, done != 0);
}

}  // namespace simrun::cli
