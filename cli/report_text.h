// What the parts of the report for people are written with.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace simrun::cli {

using Buffer = fmt::memory_buffer;

template <class... Args>
void put(Buffer& to, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(to), format, std::forward<Args>(args)...);
}

// 0 of nothing.
inline double per(uint64_t part, uint64_t whole, double scale = 1) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole) * scale;
}

}  // namespace simrun::cli
