// Kinds and events as words.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "traces/record.h"

namespace simrun::traces {

inline std::string_view word_of(OperandKind kind) {
  constexpr std::array<std::string_view, kOperandKinds> kWords = {
      "load", "store", "modify", "prefetch", "flush", "load-nt", "store-nt"};
  return kWords[static_cast<size_t>(kind)];
}

inline std::string event_word(uint32_t event) {
  constexpr std::array<std::string_view, 16> kWords = {
      "0",       "thread-start", "thread-end", "thread-create", "thread-create-failed", "syscall", "syscall-end", "fs-base",
      "gs-base", "signal",       "cut",        "marker",        "exec",                 "exec-failed", "fork",    "mappings"};
  constexpr std::array<std::string_view, 3> kRecorders = {"core", "process-start", "process-end"};
  const uint32_t recorders = event - static_cast<uint32_t>(Event::kCore);
  if (recorders < kRecorders.size()) return std::string(kRecorders[recorders]);
  return event < kWords.size() ? std::string(kWords[event]) : fmt::format("event-{}", event);
}

}  // namespace simrun::traces
