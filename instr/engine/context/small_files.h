// Files of /proc that are short: their first bytes by one read, without the C library. Any time; for a moment a descriptor is taken.
#pragma once

#include <fcntl.h>

#include <span>
#include <string_view>

#include "instr/engine/context/raw_syscall.h"

namespace simrun::engine {

// In `memory`, as much as has room there. Empty: it cannot be read.
inline std::string_view read_small_file(const char* path, std::span<char> memory) {
  const int64_t file = raw_syscall(SYS_openat, static_cast<uint64_t>(AT_FDCWD), word(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const int64_t bytes = raw_syscall(SYS_read, static_cast<uint64_t>(file), word(memory.data()), memory.size());
  raw_syscall(SYS_close, static_cast<uint64_t>(file));
  return {memory.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0};
}

// The number behind `name`, "\nTracerPid:\t" say; 0 where there is none.
inline uint64_t number_behind(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  uint64_t number = 0;
  if (at == std::string_view::npos) return 0;
  for (text.remove_prefix(at + name.size()); !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1))
    number = 10 * number + static_cast<uint64_t>(text[0] - '0');
  return number;
}

}  // namespace simrun::engine
