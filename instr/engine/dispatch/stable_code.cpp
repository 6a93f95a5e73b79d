#include "instr/engine/dispatch/stable_code.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/signal_mask.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/fpu_pointers.h"
#include "instr/engine/dispatch/safe_points.h"
#include "instr/engine/instrument/log.h"
#include "instr/engine/translate/address_space.h"
#include "instr/engine/translate/stable_pages.h"

namespace simrun::engine {
namespace {

// A thread that enters a call says so and then looks at this; who protects sets it and then looks who is in a call. One sees the other.
std::atomic<bool> g_protects;
bool g_stopped;   // under the translation lock
std::atomic<uint64_t> g_times_given_back;   // changed under the translation lock
constexpr uint64_t kEverywhere = ~0ull;

bool set_permission(const border::AddressRange& r, uint64_t permission) { return raw_syscall(SYS_mprotect, r.base, r.bytes, permission) == 0; }
void allow_writing(const border::AddressRange& r) {
  set_permission(r, PROT_READ | PROT_WRITE | PROT_EXEC);
  g_times_given_back.fetch_add(1);
}

// --- What a system call may write to

// `bytes` behind the pointer in argument `pointer`, or so many for each of the things that argument `things` counts.
struct WrittenTo {
  uint16_t call;
  uint8_t pointer, things;
  uint16_t bytes;
};
constexpr uint8_t kOne = 7;

// Calls that write to what their arguments point to and no farther, and not when they are over. Any other may write anywhere.
constexpr WrittenTo kWrittenTo[] = {
    {SYS_read, 1, 2, 1}, {SYS_pread64, 1, 2, 1}, {SYS_getdents64, 1, 2, 1}, {SYS_getrandom, 0, 1, 1}, {SYS_getcwd, 0, 1, 1},
    {SYS_readlink, 1, 2, 1}, {SYS_readlinkat, 2, 3, 1}, {SYS_stat, 1, kOne, 144}, {SYS_fstat, 1, kOne, 144}, {SYS_lstat, 1, kOne, 144},
    {SYS_newfstatat, 2, kOne, 144}, {SYS_statx, 4, kOne, 256}, {SYS_poll, 0, 1, 8}, {SYS_ppoll, 0, 1, 8}, {SYS_ppoll, 2, kOne, 16},
    {SYS_select, 4, kOne, 16}, {SYS_pselect6, 4, kOne, 16}, {SYS_epoll_wait, 1, 2, 12}, {SYS_epoll_pwait, 1, 2, 12},
    {SYS_rt_sigaction, 2, kOne, 32}, {SYS_rt_sigprocmask, 2, kOne, 8}, {SYS_rt_sigpending, 0, kOne, 8}, {SYS_rt_sigtimedwait, 1, kOne, 128},
    {SYS_sigaltstack, 1, kOne, 24}, {SYS_pipe, 0, kOne, 8}, {SYS_pipe2, 0, kOne, 8}, {SYS_mincore, 2, 1, 1}, {SYS_nanosleep, 1, kOne, 16},
    {SYS_clock_nanosleep, 3, kOne, 16}, {SYS_getitimer, 1, kOne, 32}, {SYS_setitimer, 2, kOne, 32}, {SYS_sendfile, 2, kOne, 8},
    {SYS_accept, 1, kOne, 128}, {SYS_accept, 2, kOne, 4}, {SYS_accept4, 1, kOne, 128}, {SYS_accept4, 2, kOne, 4}, {SYS_recvfrom, 1, 2, 1},
    {SYS_recvfrom, 4, kOne, 128}, {SYS_recvfrom, 5, kOne, 4}, {SYS_getsockname, 1, kOne, 128}, {SYS_getsockname, 2, kOne, 4},
    {SYS_getpeername, 1, kOne, 128}, {SYS_getpeername, 2, kOne, 4}, {SYS_socketpair, 3, kOne, 8}, {SYS_wait4, 1, kOne, 4}, {SYS_wait4, 3, kOne, 144},
    {SYS_waitid, 2, kOne, 128}, {SYS_waitid, 4, kOne, 144}, {SYS_uname, 0, kOne, 390}, {SYS_fcntl, 2, kOne, 32}, {SYS_gettimeofday, 0, kOne, 16},
    {SYS_gettimeofday, 1, kOne, 8}, {SYS_time, 0, kOne, 8}, {SYS_getrlimit, 1, kOne, 16}, {SYS_prlimit64, 3, kOne, 16}, {SYS_getrusage, 1, kOne, 144},
    {SYS_sysinfo, 0, kOne, 112}, {SYS_times, 0, kOne, 32}, {SYS_arch_prctl, 1, kOne, 8}, {SYS_futex, 0, kOne, 4}, {SYS_futex, 4, kOne, 4},
    {SYS_sched_getaffinity, 2, 1, 1}, {SYS_clock_gettime, 1, kOne, 16}, {SYS_clock_getres, 1, kOne, 16}, {SYS_timer_settime, 3, kOne, 32},
    {SYS_timerfd_settime, 3, kOne, 32}, {SYS_timerfd_gettime, 1, kOne, 32}, {SYS_getcpu, 0, kOne, 4}, {SYS_getcpu, 1, kOne, 4},
};

// These write nowhere.
constexpr uint16_t kOnlyRead[] = {
    SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_open, SYS_openat, SYS_close, SYS_lseek, SYS_rt_sigreturn, SYS_rt_sigsuspend,
    SYS_access, SYS_faccessat, SYS_faccessat2, SYS_sched_yield, SYS_msync, SYS_mlock, SYS_munlock, SYS_dup, SYS_dup2, SYS_dup3, SYS_pause,
    SYS_alarm, SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_socket, SYS_connect, SYS_sendto,
    SYS_sendmsg, SYS_shutdown, SYS_bind, SYS_listen, SYS_setsockopt, SYS_kill, SYS_tgkill, SYS_tkill, SYS_flock, SYS_fsync, SYS_fdatasync,
    SYS_ftruncate, SYS_fallocate, SYS_chdir, SYS_rename, SYS_renameat2, SYS_mkdir, SYS_rmdir, SYS_unlink, SYS_unlinkat, SYS_setrlimit,
    SYS_sched_setaffinity, SYS_epoll_create1, SYS_epoll_ctl, SYS_timerfd_create, SYS_eventfd2, SYS_memfd_create, SYS_membarrier, SYS_exit_group,
    SYS_epoll_create,
};

constexpr uint64_t whole_pages(uint64_t bytes) { return (bytes + (kPageBytes - 1)) & ~(kPageBytes - 1); }

// Calls visit(from, to) for all that a call of `thread`, which its registers describe, may write to or change.
template <typename Visit>
void visit_writes(const ThreadContext* thread, uint64_t number, Visit&& visit) {
  const uint64_t* g = thread->app.gpr;
  const uint64_t a[] = {g[kRdi], g[kRsi], g[kRdx], g[kR10], g[kR8], g[kR9]};
  const auto visit_from = [&](uint64_t from, uint64_t bytes) { visit(from, from + bytes < from ? kEverywhere : from + bytes); };
  switch (number) {
    case SYS_mmap:
      if ((a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED) visit_from(a[0], whole_pages(a[1]));
      return;
    case SYS_brk:   // what is above it is no more
      if (a[0] != 0) visit_from(a[0], 1ull << 40);
      return;
    case SYS_ioctl: {
      const auto request = static_cast<uint32_t>(a[1]);
      if (request != TCGETS && request != TIOCGWINSZ && request != TIOCGPGRP && request != FIONREAD && request != FIONBIO && request != FIOCLEX)
        return visit(0, kEverywhere);
      return visit_from(a[2], 64);
    }
    case SYS_select:
    case SYS_pselect6:
      for (int set = 1; set <= 3; ++set) visit_from(a[set], (a[0] & 0xffffffff) / 64 * 8 + 8);
      break;
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_madvise:
      return visit_from(a[0], whole_pages(a[1]));
    case SYS_mremap:
      visit_from(a[0], whole_pages(a[1]));
      return visit_from(a[4], whole_pages(a[2]));
    default:
      break;
  }
  bool known = std::find(std::begin(kOnlyRead), std::end(kOnlyRead), number) != std::end(kOnlyRead);
  for (const WrittenTo& w : kWrittenTo) {
    if (w.call != number) continue;
    known = true;
    visit_from(a[w.pointer], w.things == kOne ? w.bytes : std::min(a[w.things], uint64_t{1} << 40) * w.bytes);
  }
  if (!known) visit(0, kEverywhere);
}

// After these the kernel writes at any time; or a write permission, once taken, cannot be given back; or another process, which goes on beside
// this one, has its memory.
bool ends_protection(const ThreadContext* thread, uint64_t number) {
  constexpr int kSetMdwe = 65;   // PR_SET_MDWE, Linux 6.3
  const auto shares_memory = [](uint64_t flags) { return (flags & (CLONE_VM | CLONE_THREAD | CLONE_VFORK)) == CLONE_VM; };
  const uint64_t first = thread->app.gpr[kRdi];
  switch (number) {
    case SYS_io_setup: case SYS_io_uring_setup: case SYS_userfaultfd: return true;
    case SYS_prctl: return (first & 0xffffffff) == kSetMdwe;
    case SYS_clone: return shares_memory(first);
    case SYS_clone3: {
      uint64_t flags;
      return !read_app(&flags, first, sizeof flags) || shares_memory(flags);
    }
    default: return false;
  }
}

// --- Protecting

// Whether the call that another thread is in may write to the page, or change it.
bool is_in_use(const ThreadContext* self, uint64_t page) {
  const uint32_t slots = g_process.header->slots_used.load();
  for (uint32_t k = 0; k < slots; ++k) {
    const ThreadContext* const thread = g_process.slot(k);
    const auto state = static_cast<border::ThreadState>(thread->ring.state.load());
    const uint64_t call = thread->call_in_progress.load();
    if (thread == self || call == 0 || state == border::ThreadState::kFree || state == border::ThreadState::kDead) continue;
    bool met = false;
    visit_writes(thread, call - 1, [&](uint64_t from, uint64_t to) { met |= from < page + kPageBytes && page < to; });
    if (met) return true;
  }
  return false;
}

// What has been quiet and is still private and writable.
std::vector<uint64_t> quiet_pages() {
  std::vector<uint64_t> pages;
  for (const border::AddressRange& run : end_epoch())
    for (uint64_t page = run.base; page < run.base + run.bytes; page += kPageBytes)
      if (is_private_writable_code(AppAddress{page}))
        pages.push_back(page);
      else
        forget_compared(page, page + kPageBytes);
  return pages;
}

// The world is stopped. False: the kernel did not, as where one of several mappings is sealed (mseal); it has begun, maybe.
bool protect(const border::AddressRange& run) {
  if (!set_permission(run, PROT_READ | PROT_EXEC)) {
    for (uint64_t page = run.base; page < run.base + run.bytes; page += kPageBytes) allow_writing({page, kPageBytes});
    return false;
  }
  note_stable(run.base, run.base + run.bytes);
  // Superblocks that ended before the run because code there could change would be formed in another way from now on.
  invalidate_translations(AppAddress{run.base - kPageBytes}, AppAddress{run.base + run.bytes});
  g_process.header->statistics.protected_pages.fetch_add(run.bytes / kPageBytes, std::memory_order_relaxed);
  if (keeps_log()) log_line("stable: %#lx, %lu pages", run.base, run.bytes / kPageBytes);
  return true;
}

}  // namespace

void protect_stable_code(ThreadContext* self) {
  self->comparisons_left = g_process.header->protect_code_after;
  std::vector<uint64_t> pages;
  {
    const std::lock_guard lock(g_translation_lock);
    if (g_stopped || g_process.user_faults) return;
    pages = quiet_pages();
    std::erase_if(pages, [&](uint64_t page) { return is_in_use(self, page); });   // as it looks; the world need not be stopped for nothing
  }
  if (pages.empty()) return;
  g_protects.store(true, std::memory_order_seq_cst);
  stop_world(self);
  {
    const std::lock_guard lock(g_translation_lock);
    settle_fpu_pointers();
    // It may be other memory by now, or have been written to.
    std::erase_if(pages, [&](uint64_t page) { return !is_quiet(page) || !is_private_writable_code(AppAddress{page}) || is_in_use(self, page); });
    for (size_t from = 0, to = 0; from < pages.size() && !g_stopped; from = to) {
      while (to < pages.size() && pages[to] == pages[from] + (to - from) * kPageBytes) ++to;
      g_stopped = !protect({pages[from], (to - from) * kPageBytes});
    }
  }
  resume_world();
}

bool give_back(ThreadContext* self, uint64_t from, uint64_t to) {
  {
    const std::lock_guard lock(g_translation_lock);
    if (!has_stable_page(from, to)) return false;
  }
  stop_world(self);
  {
    const std::lock_guard lock(g_translation_lock);
    settle_fpu_pointers();
    for (const border::AddressRange& run : take_stable(from, to)) {
      allow_writing(run);
      invalidate_translations(AppAddress{run.base}, AppAddress{run.base + run.bytes});
      g_process.header->statistics.pages_given_back.fetch_add(run.bytes / kPageBytes, std::memory_order_relaxed);
      if (keeps_log()) log_line("no longer stable: %#lx, %lu pages", run.base, run.bytes / kPageBytes);
    }
  }
  resume_world();
  return true;
}

void give_all_back(ThreadContext* self) {
  if (g_protects.load(std::memory_order_seq_cst)) give_back(self, 0, kEverywhere);
}

void stop_protecting() {
  const std::lock_guard lock(g_translation_lock);
  for (const border::AddressRange& run : take_stable(0, kEverywhere)) allow_writing(run);
  g_stopped = true;
}

CallInProgress::CallInProgress(ThreadContext* self, uint64_t number) : self_(self) {
  self->call_in_progress.store(number + 1, std::memory_order_seq_cst);
  if (g_process.header->protect_code_after != 0 && ends_protection(self, number)) {
    const std::lock_guard lock(g_translation_lock);
    g_stopped = true;
  }
  if (g_protects.load(std::memory_order_seq_cst)) visit_writes(self, number, [&](uint64_t from, uint64_t to) { give_back(self, from, to); });
}

void open_to_faults(ThreadContext* self) {
  if (!g_protects.load(std::memory_order_seq_cst) || self->mask_is_looked_at != 0) return;
  if (!is_blocked(SIGSEGV)) {
    self->mask_is_looked_at = 1;
    return;
  }
  self->open_to_faults = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);   // for the handler
  unblock(SIGSEGV);
}

void close_to_faults(ThreadContext* self) {
  if (self->open_to_faults == 0) return;
  block_again(SIGSEGV);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  self->open_to_faults = 0;
}

void follow_sent_fault(ThreadContext* self) {
  if (std::exchange(self->took_blocked, 0) == 0) return;
  {
    const std::lock_guard lock(g_translation_lock);
    g_stopped = true;
  }
  give_all_back(self);
  g_protects.store(false, std::memory_order_seq_cst);
}

bool make_writable(uint64_t from, uint64_t bytes) {
  return g_protects.load(std::memory_order_seq_cst) && give_back(current_context(), from, from + bytes);
}

uint64_t times_given_back() { return g_times_given_back.load(); }

// Who gives a page back has waited for this thread to leave the code cache: until then it is stable still.
bool is_write_to_stable_code(uint64_t address, uint64_t error) {
  constexpr uint64_t kWrite = 0b110;   // arch/x86/include/asm/trap_pf.h: by user code; the page may not even be there yet
  if (!g_protects.load(std::memory_order_relaxed) || (error & kWrite) != kWrite) return false;
  const std::lock_guard lock(g_translation_lock);
  return is_stable(AppAddress{address});
}

}  // namespace simrun::engine
