#include "instr/engine/signals/core_file.h"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <string_view>

#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/small_files.h"
#include "instr/engine/signals/go_native.h"

namespace simrun::engine {
namespace {

// A tracer may let it live.
bool is_traced() {
  char text[1024];
  return read_small_file("/proc/thread-self/status", text).find("\nTracerPid:\t0\n") == std::string_view::npos;
}

void leave_engine_out() {
  border::AddressRange part;
  for (uint64_t at = 0; find_engine_memory(at, ~0ull, part); at = part.base + part.bytes)
    raw_syscall(SYS_madvise, part.base, part.bytes, MADV_DONTDUMP);
}

}  // namespace

bool ends_with_core(int number) {
  constexpr int kWithCore[] = {SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};   // signal(7)
  if (std::find(std::begin(kWithCore), std::end(kWithCore), number) == std::end(kWithCore)) return false;
  return raw_syscall(SYS_getpid) != 1 && !is_traced();   // defaults do not end a namespace's first process
}

void end_with_core(ThreadContext* c, int number) {
  leave_engine_out();
  NativeState state;
  fill_native_state(c, state);
  state.frame.context.mask = ~(1ull << (number - 1));   // none before it
  go_native(state);
}

}  // namespace simrun::engine
