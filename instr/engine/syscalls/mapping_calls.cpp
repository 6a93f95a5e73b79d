#include "instr/engine/syscalls/mapping_calls.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/shm.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "instr/border/address_areas.h"
#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/processor_features.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/flush.h"
#include "instr/engine/syscalls/resource_limits.h"
#include "instr/engine/translate/address_space.h"

namespace simrun::engine {
namespace {

constexpr uint64_t whole_pages(uint64_t bytes) { return (bytes + 4095) & ~4095ull; }
constexpr bool is_error(uint64_t result) { return result > static_cast<uint64_t>(-4096); }

uint64_t g_heap_end;                      // under the translation lock, like the view of the mappings
std::map<uint64_t, uint64_t> g_attached;  // System V segments by address: bytes; under the translation lock
std::atomic<uint64_t> g_lock_future;      // flags of mlockall: 0, MCL_FUTURE, with MCL_ONFAULT
std::atomic<int64_t> g_locking_process;   // whose they are: no child's (fork(2))

// A mapping call changed [from, from + bytes): translations of what was there are void. That comes after the call: code
// that runs in a range while another thread unmaps it is a race of the application's own.
template <typename Note>
void after_change(ThreadContext* c, uint64_t from, uint64_t bytes, Note&& note) {
  {
    const std::lock_guard lock(g_translation_lock);
    note();
  }
  flush_if_translated(c, AppAddress{from}, AppAddress{from + bytes});
}

// What the view loses by the call that this thread is about to make, and the size of the segment that it detaches.
thread_local std::vector<TakenOut> t_taken_out;
thread_local uint64_t t_detached;

std::vector<TakenOut> take_out_locked(uint64_t from, uint64_t bytes) {
  const std::lock_guard lock(g_translation_lock);
  return take_out(AppAddress{from}, bytes);
}

AppAddress begin_of_protection_locked(AppAddress from, uint64_t protection) {
  const std::lock_guard lock(g_translation_lock);
  return begin_of_protection(from, protection);
}

// --- Limits (mm/mmap.c, mm/mremap.c, mm/mprotect.c)
// -------------------------------------------------------------------------

bool is_data(uint64_t protection, uint64_t flags) {
  return (protection & PROT_WRITE) && (flags & MAP_TYPE) == MAP_PRIVATE && !(flags & MAP_GROWSDOWN);
}

bool exceeds_by_mmap(const uint64_t* a) {
  const uint64_t bytes = whole_pages(a[1]);
  if (bytes == 0) return false;
  MappedBytes more{bytes, is_data(a[2], a[3]) ? bytes : 0};
  if (a[3] & MAP_FIXED) {
    const MappedBytes replaced = mapped_bytes_in(AppAddress{a[0]}, AppAddress{a[0] + bytes});
    more.all -= std::min(more.all, replaced.all);
    more.data -= std::min(more.data, replaced.data);
  }
  return !may_map(more);
}

bool exceeds_by_mremap(const uint64_t* a) {
  const uint64_t before = whole_pages(a[1]), after = whole_pages(a[2]);
  const uint64_t more = (a[3] & MREMAP_DONTUNMAP) ? after : after > before ? after - before : 0;
  if (more == 0) return false;
  const MappedBytes first_page = mapped_bytes_in(AppAddress{a[0]}, AppAddress{a[0] + 4096});
  return !may_map({more, first_page.data != 0 ? more : 0});
}

bool exceeds_by_mprotect(const uint64_t* a) {
  const uint64_t bytes = whole_pages(a[1]);
  if (!(a[2] & PROT_WRITE) || bytes == 0) return false;
  // Neither shared mappings nor stacks become data; beyond the limit of all nothing is refused.
  const uint64_t more = mapped_bytes_in(AppAddress{a[0]}, AppAddress{a[0] + bytes}).not_yet_data;
  return more != 0 && may_map({more, 0}) && !may_map({more, more});
}

// Where the heap may end is asked before whether it grows.
bool exceeds_by_brk(uint64_t end) {
  const uint64_t now = whole_pages(g_heap_end), then = whole_pages(end);
  return !heap_may_end_at(end) || (then > now && !may_map({then - now, then - now}));
}

bool exceeds_by_shmat(uint64_t segment) {
  shmid_ds found{};
  return raw_syscall(SYS_shmctl, segment, IPC_STAT, word(&found)) >= 0 && !may_map({whole_pages(found.shm_segsz), 0});
}

// True: the application's limits forbid the call.
bool exceeds_limit(uint64_t number, const uint64_t* a, int64_t& result) {
  if (memory_is_unlimited()) return false;
  const std::lock_guard lock(g_translation_lock);
  result = -ENOMEM;
  switch (number) {
    case SYS_mmap:
      return exceeds_by_mmap(a);
    case SYS_mremap:
      return exceeds_by_mremap(a);
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      return exceeds_by_mprotect(a);
    case SYS_brk:
      result = static_cast<int64_t>(g_heap_end);
      return exceeds_by_brk(a[0]);
    case SYS_shmat:
      return exceeds_by_shmat(a[0]);
    default:
      return false;
  }
}

// --- Ranges that meet the engine's memory
// -----------------------------------------------------------------------------------

// The kernel does the call for each part of [from, from + bytes) that is not the engine's. The first error that is not
// ENOMEM ends it.
template <typename Part>
int64_t for_each_own_part(uint64_t from, uint64_t bytes, Part&& part) {
  const uint64_t end = from + bytes;
  int64_t result = 0;
  border::AddressRange engine;
  while (from < end) {
    const bool found = find_engine_memory(from, end, engine);
    const uint64_t stop = found ? engine.base : end;
    if (from < stop) {
      const int64_t one = part(from, stop - from);
      if (one != 0 && one != -ENOMEM) return one;
      if (one != 0) result = one;
    }
    from = found ? engine.base + engine.bytes : end;
  }
  return result;
}

// The end of user space (TASK_SIZE), or more. A processor that has five levels of page tables may run a kernel that uses four: only then
// nothing can be mapped where those end.
uint64_t end_of_user_space() {
  constexpr uint64_t kFourLevels = 1ull << 47;
  if (!has_feature(Feature::kFiveLevelPaging)) return kFourLevels - 4096;
  const int64_t page = raw_syscall(SYS_mmap, kFourLevels, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, ~0ull, 0);
  if (page > 0) raw_syscall(SYS_munmap, static_cast<uint64_t>(page), 4096);
  return (page > 0 || page == -EEXIST ? 1ull << 56 : kFourLevels) - 4096;
}

int64_t unmap_around(ThreadContext* c, uint64_t from, uint64_t bytes) {
  if (from + bytes > end_of_user_space()) return -EINVAL;   // nothing is done (mm/vma.c, do_vmi_munmap)
  return for_each_own_part(from, bytes, [&](uint64_t at, uint64_t size) {
    const std::vector<TakenOut> there = take_out_locked(at, size);
    const int64_t result = raw_syscall(SYS_munmap, at, size);
    after_change(c, at, size, [&] {
      if (result != 0) put_back(there);
    });
    return result;
  });
}

// Natively the range has a hole here, at which these calls stop.
int64_t protect_up_to(ThreadContext* c, uint64_t number, const uint64_t* a, uint64_t stop) {
  const uint64_t size = stop - a[0];
  if (size != 0) {
    const int64_t result = raw_syscall(static_cast<int64_t>(number), a[0], size, a[2], a[3]);
    if (result != 0) return result;
    after_change(c, a[0], size, [&] { note_protected(AppAddress{a[0]}, size, a[2]); });
  }
  return -ENOMEM;
}

// What was there is gone, and read again from the file, or zero.
bool drops_contents(uint64_t advice) {
  constexpr uint64_t kGuardInstall = 102;   // MADV_GUARD_INSTALL, Linux 6.13
  return advice == kGuardInstall || advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE || advice == MADV_DONTNEED_LOCKED;
}

// These go on behind holes and report them at the end.
int64_t advise_around(uint64_t number, const uint64_t* a) {
  const int64_t result = for_each_own_part(a[0], whole_pages(a[1]), [&](uint64_t at, uint64_t size) {
    return raw_syscall(static_cast<int64_t>(number), at, size, a[2], a[3]);
  });
  return result != 0 ? result : -ENOMEM;
}

// Address space without access: nobody sees what is there. So do sanitizers reserve the gaps in their layout.
bool only_reserves(const uint64_t* a) {
  return a[2] == PROT_NONE && (a[3] & MAP_TYPE) == MAP_PRIVATE && (a[3] & MAP_ANONYMOUS) != 0;
}

// The rest of the engine's area is left out too.
int64_t reserve_around(ThreadContext* c, const uint64_t* a) {
  const uint64_t end = a[0] + whole_pages(a[1]);
  int64_t result = 0;
  const auto reserve = [&](uint64_t from, uint64_t to) {
    if (from >= to || result != 0) return;
    result = for_each_own_part(from, to - from, [&](uint64_t at, uint64_t size) {
      const int64_t mapped = raw_syscall(SYS_mmap, at, size, a[2], a[3], a[4], 0);
      if (mapped < 0) return mapped;
      after_change(c, at, size, [&] { note_mapped(AppAddress{at}, size, a[2], a[3]); });
      return int64_t{0};
    });
  };
  reserve(a[0], std::min(end, border::kEngineAreaBegin));
  reserve(std::max(a[0], border::kEngineAreaEnd), end);
  return result != 0 ? result : static_cast<int64_t>(a[0]);
}

// True when the call's range meets the engine's memory; then this is its result.
bool meets_engine_memory(ThreadContext* c, uint64_t number, const uint64_t* a, int64_t& result) {
  border::AddressRange part;
  const auto in_range = [&](uint64_t from, uint64_t bytes) {
    return bytes != 0 && (from & 4095) == 0 && from + bytes > from && find_engine_memory(from, from + bytes, part);
  };
  switch (number) {
    case SYS_mmap:  // there is no way to give memory at this address
      if (!(a[3] & MAP_FIXED) || (a[3] & MAP_FIXED_NOREPLACE) || !in_range(a[0], whole_pages(a[1]))) return false;
      result = only_reserves(a) && a[0] + whole_pages(a[1]) <= end_of_user_space() ? reserve_around(c, a) : -ENOMEM;
      return true;
    case SYS_munmap:
      if (!in_range(a[0], whole_pages(a[1]))) return false;
      result = unmap_around(c, a[0], whole_pages(a[1]));
      return true;
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      if (!in_range(a[0], whole_pages(a[1]))) return false;
      result = protect_up_to(c, number, a, part.base);
      return true;
    case SYS_mremap:
      if (in_range(a[0], std::max(whole_pages(a[1]), uint64_t{1}))) return result = -EFAULT, true;
      if ((a[3] & MREMAP_FIXED) && in_range(a[4], whole_pages(a[2]))) return result = -ENOMEM, true;
      return false;
    case SYS_madvise:
    case SYS_msync:
      if (!in_range(a[0], whole_pages(a[1]))) return false;
      result = advise_around(number, a);
      return true;
    case SYS_mincore:
      if (!in_range(a[0], whole_pages(a[1]))) return false;
      result = -ENOMEM;
      return true;
    case SYS_mlock:
    case SYS_mlock2:
    case SYS_munlock:
      if (!in_range(a[0] & ~4095ull, whole_pages(a[1] + (a[0] & 4095)))) return false;
      result = -ENOMEM;
      return true;
    case SYS_mbind:
      if (!in_range(a[0], whole_pages(a[1]))) return false;
      result = -EFAULT;
      return true;
    default:
      return false;
  }
}

// --- mlockall: the engine's sparse mappings must not come into memory
// -----------------------------------------------------------

int64_t lock_all(uint64_t flags) {
  if (flags == 0 || (flags & ~static_cast<uint64_t>(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) != 0 ||
      flags == MCL_ONFAULT)
    return -EINVAL;
  struct {
    uint64_t soft, hard;
  } limit{};
  raw_syscall(SYS_prlimit64, 0, 8 /* RLIMIT_MEMLOCK */, 0, word(&limit));
  constexpr uint64_t kUserEnd = 1ull << 47;
  // Not while pages come: who brings them (userfaultfd) may need a translation.
  std::vector<border::AddressRange> ranges;
  {
    const std::lock_guard lock(g_translation_lock);
    ranges = application_ranges();
  }
  uint64_t all = 0;
  for (const border::AddressRange& r : ranges) all += r.base < kUserEnd ? r.bytes : 0;
  if (limit.soft == 0 && !has_capability(CAP_IPC_LOCK)) return -EPERM;
  if ((flags & MCL_CURRENT) && all > limit.soft && !has_capability(CAP_IPC_LOCK)) return -ENOMEM;
  g_lock_future = (flags & MCL_FUTURE) != 0 ? flags & (MCL_FUTURE | MCL_ONFAULT) : 0;
  g_locking_process = g_process.pid;
  if (!(flags & MCL_CURRENT)) return 0;
  for (const border::AddressRange& r : ranges)  // what cannot come into memory is no error
    if (r.base < kUserEnd) raw_syscall(SYS_mlock2, r.base, r.bytes, (flags & MCL_ONFAULT) ? MLOCK_ONFAULT : 0);
  return 0;
}

int64_t lock_as_all(uint64_t from, uint64_t bytes) {
  return raw_syscall(SYS_mlock2, from, bytes, (g_lock_future & MCL_ONFAULT) ? MLOCK_ONFAULT : 0);
}

// MAP_LOCKED would bring all of it into memory.
int64_t map_locked(const uint64_t* a, uint64_t offset) {
  if (!(g_lock_future & MCL_ONFAULT)) return raw_syscall(SYS_mmap, a[0], a[1], a[2], a[3] | MAP_LOCKED, a[4], offset);
  const int64_t result = raw_syscall(SYS_mmap, a[0], a[1], a[2], a[3], a[4], offset);
  if (result < 0 || lock_as_all(static_cast<uint64_t>(result), a[1]) == 0) return result;
  raw_syscall(SYS_munmap, static_cast<uint64_t>(result), a[1]);
  return -EAGAIN;
}

int64_t set_locked_heap_end(uint64_t end) {
  const int64_t result = raw_syscall(SYS_brk, end);
  const uint64_t before = whole_pages(g_heap_end), now = whole_pages(static_cast<uint64_t>(result));
  if (now <= before || lock_as_all(before, now - before) == 0) return result;
  return raw_syscall(SYS_brk, g_heap_end);
}

// A range whose mappings this call does not allow: it has changed those before the first such (mm/mprotect.c), which is found by calls that do
// that again.
void note_protected_in_part(ThreadContext* c, uint64_t number, const uint64_t* a) {
  uint64_t done = 0, failing = whole_pages(a[1]) >> 12;   // pages from the beginning
  while (failing - done > 1) {
    const uint64_t pages = done + (failing - done) / 2;
    (raw_syscall(static_cast<int64_t>(number), a[0], pages << 12, a[2], a[3]) == 0 ? done : failing) = pages;
  }
  if (done != 0) after_change(c, a[0], done << 12, [&] { note_protected(AppAddress{a[0]}, done << 12, a[2]); });
}

// What a call that failed has done all the same.
void after_failed_call(ThreadContext* c, uint64_t number, const uint64_t* a) {
  const auto error = static_cast<int64_t>(c->app.gpr[kRax]);
  const bool may_be_done = error == -ENOMEM || error == -EACCES || error == -EPERM;
  if ((number == SYS_mprotect || number == SYS_pkey_mprotect) && may_be_done && (a[2] & PROT_GROWSDOWN) == 0) note_protected_in_part(c, number, a);
  if (number == SYS_madvise && error != -EINVAL && drops_contents(a[2] & 0xffffffff)) flush_if_translated(c, AppAddress{a[0]}, AppAddress{a[0] + whole_pages(a[1])});
}

// Linux 6.13 and later: only there process_madvise may drop contents, and only of its caller (include/uapi/linux/pidfd.h).
bool is_own_process(uint64_t pidfd) {
  constexpr int kSelfThread = -10000, kSelfThreadGroup = -10001;
  if (static_cast<int>(pidfd) == kSelfThread || static_cast<int>(pidfd) == kSelfThreadGroup) return true;
  struct {
    uint64_t mask, cgroup;
    uint32_t pid, tgid;
    uint64_t others[5];
  } information{};
  static_assert(sizeof information == 64);
  if (raw_syscall(SYS_ioctl, pidfd, _IOC(_IOC_READ | _IOC_WRITE, 0xff, 11, sizeof information), word(&information)) < 0) return false;
  return information.tgid == static_cast<uint32_t>(raw_syscall(SYS_getpid));
}

// For each range what madvise does (mm/madvise.c, vector_madvise): the bytes of those before the first that fails, else its error.
int64_t advise_itself(ThreadContext* c, const uint64_t* a) {
  constexpr uint64_t kMostRanges = 1024;   // UIO_MAXIOV
  if (a[2] > kMostRanges) return -EINVAL;
  std::vector<iovec> ranges(a[2]);
  if (!read_app(ranges.data(), a[1], a[2] * sizeof(iovec))) return -EFAULT;
  if (const int64_t refused = raw_syscall(SYS_process_madvise, a[0], 0, 0, a[3], a[4]); refused < 0) return refused;
  int64_t done = 0;
  for (const iovec& range : ranges) {
    const uint64_t advice[] = {word(static_cast<char*>(range.iov_base)), range.iov_len, a[3], 0, 0};
    int64_t result;
    if (!meets_engine_memory(c, SYS_madvise, advice, result)) result = raw_syscall(SYS_madvise, advice[0], advice[1], advice[2]);
    if (result != -EINVAL) flush_if_translated(c, AppAddress{advice[0]}, AppAddress{advice[0] + whole_pages(advice[1])});
    if (result < 0) return done != 0 ? done : result;
    done += static_cast<int64_t>(range.iov_len);
  }
  return done;
}

}  // namespace

void start_mapping_calls() {
  g_heap_end = static_cast<uint64_t>(raw_syscall(SYS_brk, 0));
  note_read_implies_exec((raw_syscall(SYS_personality, 0xffffffff) & READ_IMPLIES_EXEC) != 0);
}

bool answer_mapping_call(ThreadContext* c, uint64_t number, int64_t& result) {
  const uint64_t* g = c->app.gpr;
  const uint64_t a[] = {g[kRdi], g[kRsi], g[kRdx], g[kR10], g[kR8]};
  switch (number) {
    case SYS_mlockall:
      result = lock_all(a[0]);
      return true;
    case SYS_mmap:
    case SYS_brk:
      if (g_lock_future == 0 || g_locking_process != g_process.pid || exceeds_limit(number, a, result) || meets_engine_memory(c, number, a, result)) break;
      result = number == SYS_mmap ? map_locked(a, g[kR9]) : set_locked_heap_end(a[0]);
      c->app.gpr[kRax] = static_cast<uint64_t>(result);
      after_mapping_call(c, number, a);
      return true;
    case SYS_munlockall:
      g_lock_future = 0;
      return false;
    case SYS_process_madvise:
      if (!drops_contents(a[3] & 0xffffffff) || !is_own_process(a[0])) return false;
      result = advise_itself(c, a);
      return true;
    default:
      break;
  }
  return meets_engine_memory(c, number, a, result) || exceeds_limit(number, a, result);
}

namespace {

// A private mapping shows what is written to its file until the page is written to itself. Libraries are opened for
// reading, so this is for those who generate code through a file.
bool shows_writes_to_file(const uint64_t* a) {
  if ((a[3] & MAP_TYPE) != MAP_PRIVATE || (a[3] & MAP_ANONYMOUS) != 0) return false;
  const int64_t flags = raw_syscall(SYS_fcntl, a[4], F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == O_RDWR;
}

}  // namespace

void before_mapping_call(uint64_t number, const uint64_t* a) {
  t_detached = 0;
  if (number == SYS_munmap) {
    const uint64_t bytes = whole_pages(a[1]);
    if ((a[0] & 4095) == 0 && a[0] + bytes > a[0]) t_taken_out = take_out_locked(a[0], bytes);
  } else if (number == SYS_mremap && (a[3] & MREMAP_DONTUNMAP) == 0 && (a[0] & 4095) == 0 && a[0] + a[1] > a[0]) {
    // Code that stays where it is must not be missing meanwhile.
    const std::lock_guard lock(g_translation_lock);
    t_taken_out = take_out(AppAddress{a[0]}, whole_pages(a[1]));
    const auto is_code = [](const TakenOut& part) { return part.executable; };
    if (std::any_of(t_taken_out.begin(), t_taken_out.end(), is_code)) put_back(std::exchange(t_taken_out, {}));
  } else if (number == SYS_shmdt) {
    const std::lock_guard lock(g_translation_lock);
    const auto attached = g_attached.find(a[0]);
    if (attached == g_attached.end()) return;
    t_detached = attached->second;
    t_taken_out = take_out(AppAddress{a[0]}, t_detached);
    g_attached.erase(attached);
  }
}

void undo_before_mapping_call(uint64_t number, const uint64_t* a) {
  if (t_taken_out.empty()) return;
  const std::lock_guard lock(g_translation_lock);
  put_back(t_taken_out);
  if (number == SYS_shmdt) g_attached[a[0]] = t_detached;
  t_taken_out.clear();
}

void after_mapping_call(ThreadContext* c, uint64_t number, const uint64_t* a) {
  const uint64_t result = c->app.gpr[kRax];
  if (is_error(result)) {
    undo_before_mapping_call(number, a);
    return after_failed_call(c, number, a);
  }
  const std::vector<TakenOut> taken_out = std::exchange(t_taken_out, {});
  const uint64_t bytes = whole_pages(a[1]);
  const AppAddress from{a[0]}, to{result};
  switch (number) {
    case SYS_mmap:
      return after_change(c, result, bytes, [&] {
        note_mapped(to, bytes, a[2], a[3]);
        if (shows_writes_to_file(a)) note_file_may_change(to, bytes);
      });
    case SYS_munmap:
      return after_change(c, a[0], bytes, [] {});
    case SYS_mprotect:
    case SYS_pkey_mprotect: {
      const AppAddress begin = begin_of_protection_locked(from, a[2]);
      const uint64_t whole = raw(from) + bytes - raw(begin);
      return after_change(c, raw(begin), whole, [&] { note_protected(begin, whole, a[2]); });
    }
    case SYS_mremap:
      if (!taken_out.empty()) {
        return after_change(c, result, whole_pages(a[2]), [&] { put_moved(taken_out, from, bytes, to, whole_pages(a[2])); });
      }
      after_change(c, a[0], bytes,
                   [&] { note_moved(from, bytes, to, whole_pages(a[2]), (a[3] & MREMAP_DONTUNMAP) != 0); });
      return after_change(c, result, whole_pages(a[2]), [] {});
    case SYS_brk: {
      uint64_t before, now = whole_pages(result);
      {
        const std::lock_guard lock(g_translation_lock);
        before = whole_pages(g_heap_end);
        if (now > before) note_mapped(AppAddress{before}, now - before, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        if (now < before) note_unmapped(AppAddress{now}, before - now);
        g_heap_end = result;
      }
      if (now < before) flush_if_translated(c, AppAddress{now}, AppAddress{before});
      return;
    }
    case SYS_shmat: {
      shmid_ds segment{};
      raw_syscall(SYS_shmctl, a[0], IPC_STAT, word(&segment));
      const uint64_t size = whole_pages(segment.shm_segsz);
      const uint64_t protection =
          PROT_READ | ((a[2] & SHM_RDONLY) ? 0u : PROT_WRITE) | ((a[2] & SHM_EXEC) ? PROT_EXEC : 0u);
      return after_change(c, result, size, [&] {
        note_mapped(to, size, protection, MAP_SHARED);
        g_attached[result] = size;
      });
    }
    case SYS_shmdt:
      if (t_detached != 0) flush_if_translated(c, from, from + t_detached);
      t_detached = 0;
      return;
    case SYS_madvise:
      if (drops_contents(a[2] & 0xffffffff)) flush_if_translated(c, from, from + bytes);
      return;
    case SYS_remap_file_pages:
      return after_change(c, a[0], bytes, [] {});
    case SYS_personality: {
      const std::lock_guard lock(g_translation_lock);
      uint32_t& hidden = g_process.header->added_personality;   // by the launcher, not by the application or who started it
      c->app.gpr[kRax] &= ~uint64_t{hidden};
      if ((a[0] & 0xffffffff) == 0xffffffff) return;
      hidden = 0;   // in the next image too
      return note_read_implies_exec((a[0] & READ_IMPLIES_EXEC) != 0);
    }
    default:
      return;
  }
}

}  // namespace simrun::engine
