// What is known of addresses of code, of which a large program has a million: in one array. (Maps of nodes were a tenth
// of a profile of povray.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace simrun::cli {

template <class Value>
class AddressTable {
 public:
  AddressTable() : entries_(size_t{1} << 10) {}

  // nullptr: nothing. Valid until the next [].
  const Value* find(uint64_t address) const {
    const Entry& entry = entries_[place_of(address)];
    return entry.address != kNone ? &entry.value : nullptr;
  }
  // A new one is Value{}. Valid until the next [].
  Value& operator[](uint64_t address) {
    if (2 * used_ >= entries_.size()) grow();
    Entry& entry = entries_[place_of(address)];
    if (entry.address == kNone) entry = {address, {}}, ++used_;
    return entry.value;
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};  // no instruction is there
  struct Entry {
    uint64_t address = kNone;
    Value value{};
  };
  // Of the entry, or of the empty one where it belongs. The size is a power of two.
  size_t place_of(uint64_t address) const {
    size_t at = (address * 0x9e3779b97f4a7c15u) >> 24 & (entries_.size() - 1);
    while (entries_[at].address != kNone && entries_[at].address != address) at = (at + 1) & (entries_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    for (Entry& entry : old)
      if (entry.address != kNone) entries_[place_of(entry.address)] = std::move(entry);
  }

  std::vector<Entry> entries_;
  size_t used_ = 0;
};

}  // namespace simrun::cli
