// What a process has mapped shared, as far as its stream says (kMappingChange), and what names all processes that have it have in common.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace simrun::channel {

class SharedMemory {
 public:
  // The payload of kMappingChange.
  void change(std::span<const uint64_t> payload);
  // Of what is at an address; nothing: memory of the process's own, or nothing is known of it.
  std::optional<uint64_t> name_of(uint64_t address) const;

 private:
  struct Range {
    uint64_t end, name;   // of its first byte
  };
  void remove(uint64_t begin, uint64_t end);

  std::map<uint64_t, Range> ranges_;   // by begin
};

}  // namespace simrun::channel
