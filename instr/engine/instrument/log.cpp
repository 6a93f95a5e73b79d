#include "instr/engine/instrument/log.h"

#include <cstdarg>
#include <cstdio>

#include "instr/engine/context/raw_syscall.h"

namespace simrun::engine {

void log_line(const char* format, ...) {
  border::ProcessHeader& h = *g_process.header;
  auto* const entries = reinterpret_cast<border::LogEntry*>(g_process.base + h.log_offset);
  const uint64_t line = h.log_lines.fetch_add(1, std::memory_order_relaxed);
  border::LogEntry& entry = entries[line % border::kLogEntries];
  entry.number.store(0, std::memory_order_release);  // who reads it now sees that it is being written
  entry.tid = static_cast<uint32_t>(raw_syscall(SYS_gettid));
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(entry.text, sizeof entry.text, format, arguments);
  va_end(arguments);
  entry.number.store(line + 1, std::memory_order_release);
}

}  // namespace simrun::engine
