#include "instr/engine/syscalls/taken_signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/signal_mask.h"
#include "instr/engine/signals/signals.h"

namespace simrun::engine {
namespace {

std::atomic<bool> g_has_signal_descriptor;   // has made one; those that an exec left are not known

bool is_signal_descriptor(uint64_t descriptor) {
  constexpr char kLink[] = "anon_inode:[signalfd]";
  char path[32], link[sizeof kLink + 1];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", static_cast<int>(descriptor));
  const int64_t bytes = raw_syscall(SYS_readlink, word(path), word(link), sizeof link);
  return bytes == sizeof kLink - 1 && std::memcmp(link, kLink, sizeof kLink - 1) == 0;
}

void note_read(uint64_t at, uint64_t bytes) {
  signalfd_siginfo info;
  for (; bytes >= sizeof info; at += sizeof info, bytes -= sizeof info) {
    if (!read_app(&info, at, sizeof info)) return;
    if (restore_code(info.ssi_code)) write_app(at + offsetof(signalfd_siginfo, ssi_code), &info.ssi_code, sizeof info.ssi_code);
    note_arrival(static_cast<int>(info.ssi_signo), info.ssi_code, static_cast<pid_t>(info.ssi_pid));
  }
}

}  // namespace

void note_taken_signals(const ThreadContext* c, uint64_t number, const uint64_t* a) {
  const auto result = static_cast<int64_t>(c->app.gpr[kRax]);
  if (result < 0) return;
  if (number == SYS_signalfd || number == SYS_signalfd4) g_has_signal_descriptor.store(true, std::memory_order_relaxed);
  if (number == SYS_rt_sigtimedwait) {
    siginfo_t info;
    if (a[1] != 0 && read_app(&info, a[1], sizeof info)) {
      if (restore_code(info.si_code)) write_app(a[1] + offsetof(siginfo_t, si_code), &info.si_code, sizeof info.si_code);
      note_arrival(info.si_signo, info.si_code, info.si_pid);
    } else {
      note_arrival(static_cast<int>(result), SI_USER, border::SignalArrivals::kUnknownSender);
    }
  }
  const bool may_be_signals = number == SYS_read && result != 0 && result % sizeof(signalfd_siginfo) == 0;
  if (may_be_signals && g_has_signal_descriptor.load(std::memory_order_relaxed) && is_signal_descriptor(a[0]))
    note_read(a[1], static_cast<uint64_t>(result));
}

}  // namespace simrun::engine
