#include <fcntl.h>
#include <linux/futex.h>
#include <sys/stat.h>

#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/syscalls/syscalls.h"

namespace simrun::engine {

bool is_only_one() {
  const border::ProcessHeader& h = *g_process.header;
  return h.slots_used.load(std::memory_order_relaxed) <= 1 && h.last_token.load(std::memory_order_relaxed) == 0 && h.has_company == 0;
}

namespace {

Blocking futex(uint64_t operation) {
  switch (operation & static_cast<uint32_t>(FUTEX_CMD_MASK)) {
    case FUTEX_WAKE: case FUTEX_REQUEUE: case FUTEX_CMP_REQUEUE: case FUTEX_WAKE_OP: case FUTEX_UNLOCK_PI: return Blocking::kNo;
    default: return Blocking::kLong;
  }
}

// Files, folders and devices of memory (/dev/null) wait for a disk at most.
Blocking transfer(uint64_t descriptor) {
  constexpr uint64_t kMemoryDevices = 1;   // Linux: Documentation/admin-guide/devices.txt
  if (is_only_one()) return Blocking::kLong;
  struct stat file{};
  if (raw_syscall(SYS_fstat, descriptor, word(&file)) != 0) return Blocking::kNo;   // an error
  const bool is_memory = S_ISCHR(file.st_mode) && file.st_rdev >> 8 == kMemoryDevices;
  return is_memory || S_ISREG(file.st_mode) || S_ISDIR(file.st_mode) || S_ISBLK(file.st_mode) ? Blocking::kBriefly : Blocking::kLong;
}

}  // namespace

Blocking may_block(const ThreadContext* c, uint64_t number) {
  constexpr uint64_t kFutexWait = 455;   // Linux 6.7
  if (!g_process.has_reader()) return Blocking::kNo;
  const uint64_t* g = c->app.gpr;
  if ((number == SYS_preadv2 || number == SYS_pwritev2) && g[kR10] == ~0ull) return transfer(g[kRdi]);   // as readv and writev
  switch (number) {
    case SYS_futex:
      return futex(g[kRsi]);
    case SYS_fcntl:
      return g[kRsi] == F_SETLKW || g[kRsi] == F_OFD_SETLKW ? Blocking::kLong : Blocking::kNo;
    case SYS_read: case SYS_readv: case SYS_write: case SYS_writev:
      return transfer(g[kRdi]);
    case SYS_pread64: case SYS_preadv: case SYS_preadv2:
    case SYS_open: case SYS_openat:   // long of a FIFO that nobody else has open
      return is_only_one() ? Blocking::kLong : Blocking::kBriefly;
    case SYS_sched_yield:   // waits for a processor; who yields wants to run (docs/order.md)
    case SYS_pwrite64: case SYS_pwritev: case SYS_pwritev2: case SYS_openat2: case SYS_creat:
      return is_only_one() ? Blocking::kNo : Blocking::kBriefly;
    case SYS_poll: case SYS_ppoll: case SYS_select: case SYS_pselect6: case SYS_epoll_wait: case SYS_epoll_pwait: case SYS_epoll_pwait2:
    case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg: case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg:
    case SYS_accept: case SYS_accept4: case SYS_connect:
    case SYS_nanosleep: case SYS_clock_nanosleep: case SYS_pause: case SYS_rt_sigsuspend: case SYS_rt_sigtimedwait:
    case SYS_wait4: case SYS_waitid: case SYS_flock:
    case SYS_msgrcv: case SYS_msgsnd: case SYS_semop: case SYS_semtimedop: case SYS_mq_timedreceive: case SYS_mq_timedsend:
    case SYS_io_uring_enter: case SYS_io_getevents: case SYS_io_pgetevents: case SYS_splice: case SYS_tee: case SYS_vmsplice: case SYS_sendfile:
    case SYS_futex_waitv: case kFutexWait: case SYS_fsync: case SYS_fdatasync: case SYS_sync:
    case SYS_ptrace: case SYS_userfaultfd: case SYS_restart_syscall:
      return Blocking::kLong;
    default:
      return Blocking::kNo;
  }
}

}  // namespace simrun::engine
