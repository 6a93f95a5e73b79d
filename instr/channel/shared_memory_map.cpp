#include "instr/channel/shared_memory_map.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <iterator>

namespace simrun::channel {

namespace {

constexpr uint64_t whole_pages(uint64_t bytes) { return (bytes + 4095) & ~uint64_t{4095}; }

// Far apart from each other: of a file by its number, of memory without one by the mapping that made it, which forks inherit.
uint64_t name_of_file(uint64_t device, uint64_t number, uint64_t offset) { return (number ^ device << 20) * 0x9e3779b97f4a7c15 + offset; }
uint64_t new_name() {
  static uint64_t made = 0;
  return name_of_file(~uint64_t{0}, ++made, 0);
}

}  // namespace

void SharedMemory::remove(uint64_t begin, uint64_t end) {
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < end) {
    const auto [first, range] = *at;
    if (range.end <= begin) {
      ++at;
      continue;
    }
    at = ranges_.erase(at);
    if (first < begin) ranges_[first] = {begin, range.name};
    if (range.end > end) ranges_[end] = {range.end, range.name + (end - first)};
  }
}

void SharedMemory::change(std::span<const uint64_t> payload) {
  constexpr size_t kArguments = 2, kDevice = 9, kNumber = 10;
  const uint64_t number = payload[0], result = payload[1];
  const auto argument = [&](size_t k) { return payload[kArguments + k]; };
  if (number == 0) ranges_.clear();   // a new image, which may have come by vfork
  if (number == SYS_mremap) {
    const std::optional<uint64_t> name = name_of(argument(0));
    remove(argument(0), argument(0) + whole_pages(argument(1)));
    remove(result, result + whole_pages(argument(2)));
    if (name) ranges_[result] = {result + whole_pages(argument(2)), *name};
  }
  if (number == SYS_munmap) return remove(argument(0), argument(0) + whole_pages(argument(1)));
  if (number == SYS_shmat) {
    remove(result, result + whole_pages(argument(3)));
    ranges_[result] = {result + whole_pages(argument(3)), name_of_file(~uint64_t{1}, argument(0), 0)};
  }
  if (number != SYS_mmap) return;
  const uint64_t end = result + whole_pages(argument(1));
  remove(result, end);
  if ((argument(3) & MAP_TYPE) == MAP_PRIVATE) return;
  const bool has_file = payload.size() > kNumber && payload[kNumber] != 0;
  ranges_[result] = {end, has_file ? name_of_file(payload[kDevice], payload[kNumber], argument(5)) : new_name()};
}

std::optional<uint64_t> SharedMemory::name_of(uint64_t address) const {
  auto at = ranges_.upper_bound(address);
  if (at == ranges_.begin() || address >= (--at)->second.end) return std::nullopt;
  return at->second.name + (address - at->first);
}

}  // namespace simrun::channel
