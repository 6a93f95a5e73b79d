#include <linux/futex.h>

#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/syscalls/syscalls.h"

namespace simrun::engine {

bool may_block(const ThreadContext* c, uint64_t number) {
  constexpr uint64_t kFutexWait = 455;   // Linux 6.7
  switch (number) {
    case SYS_futex: {
      const uint64_t operation = c->app.gpr[kRsi] & static_cast<uint32_t>(FUTEX_CMD_MASK);
      return operation != FUTEX_WAKE && operation != FUTEX_REQUEUE && operation != FUTEX_CMP_REQUEUE && operation != FUTEX_WAKE_OP &&
             operation != FUTEX_UNLOCK_PI;
    }
    case SYS_read: case SYS_pread64: case SYS_readv: case SYS_preadv: case SYS_preadv2: case SYS_write: case SYS_writev:
    case SYS_poll: case SYS_ppoll: case SYS_select: case SYS_pselect6: case SYS_epoll_wait: case SYS_epoll_pwait: case SYS_epoll_pwait2:
    case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg: case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg:
    case SYS_accept: case SYS_accept4: case SYS_connect:
    case SYS_nanosleep: case SYS_clock_nanosleep: case SYS_pause: case SYS_rt_sigsuspend: case SYS_rt_sigtimedwait:
    case SYS_wait4: case SYS_waitid: case SYS_flock: case SYS_fcntl: case SYS_open: case SYS_openat: case SYS_sched_yield:
    case SYS_msgrcv: case SYS_msgsnd: case SYS_semop: case SYS_semtimedop: case SYS_mq_timedreceive: case SYS_mq_timedsend:
    case SYS_io_uring_enter: case SYS_io_getevents: case SYS_io_pgetevents: case SYS_splice: case SYS_tee: case SYS_vmsplice: case SYS_sendfile:
    case SYS_futex_waitv: case kFutexWait: case SYS_fsync: case SYS_fdatasync: case SYS_sync:
    case SYS_ptrace: case SYS_userfaultfd: case SYS_restart_syscall:
      return true;
    default:
      return false;
  }
}

}  // namespace simrun::engine
