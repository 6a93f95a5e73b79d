#include "instr/engine/syscalls/resource_limits.h"

#include <linux/capability.h>
#include <sys/resource.h>

#include <cerrno>
#include <mutex>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"

namespace simrun::engine {
namespace {

EngineLock g_lock{LockRank::kLimits};  // guards both limits; a leaf
const ForkLock g_fork_lock{g_lock};
Limit g_address_space, g_data;
uint64_t g_heap_start;

Limit* limit_of(uint64_t resource) {
  return resource == RLIMIT_AS ? &g_address_space : resource == RLIMIT_DATA ? &g_data : nullptr;
}

// Zero, the process, or one of its threads: all share the limits.
bool is_this_process(uint64_t pid) {
  if (pid == 0) return true;
  const auto own = static_cast<uint64_t>(raw_syscall(SYS_getpid));
  return pid == own || (static_cast<int64_t>(pid) > 0 && raw_syscall(SYS_tgkill, own, pid, 0) == 0);
}

// kernel/sys.c, do_prlimit.
int64_t exchange(Limit& limit, const Limit* wanted, Limit* old) {
  if (wanted != nullptr && wanted->soft > wanted->hard) return -EINVAL;
  const bool may_raise = wanted == nullptr || has_capability(CAP_SYS_RESOURCE);
  const std::lock_guard lock(g_lock);
  if (wanted != nullptr && wanted->hard > limit.hard && !may_raise) return -EPERM;
  if (old != nullptr) *old = limit;
  if (wanted != nullptr) {
    limit = *wanted;
    uint64_t* const shown =
        &limit == &g_data ? g_process.header->app_limit_data : g_process.header->app_limit_address_space;
    shown[0] = limit.soft, shown[1] = limit.hard;
  }
  return 0;
}

int64_t exchange_at(Limit& limit, uint64_t wanted_at, uint64_t old_at) {
  Limit wanted{}, old{};
  if (wanted_at != 0 && !read_app(&wanted, wanted_at, sizeof wanted)) return -EFAULT;
  const int64_t result = exchange(limit, wanted_at != 0 ? &wanted : nullptr, old_at != 0 ? &old : nullptr);
  if (result != 0) return result;
  return old_at == 0 || write_app(old_at, &old, sizeof old) ? 0 : -EFAULT;
}

constexpr uint64_t plus(uint64_t limit, uint64_t bytes) {
  return limit > RLIM_INFINITY - bytes ? RLIM_INFINITY : limit + bytes;
}

Limit kernel_limit(uint64_t resource) {
  Limit now{RLIM_INFINITY, RLIM_INFINITY};
  raw_syscall(SYS_prlimit64, 0, resource, 0, word(&now));
  return now;
}

void set_kernel_limit(uint64_t resource, Limit limit) {
  if (raw_syscall(SYS_prlimit64, 0, resource, word(&limit), 0) == 0) return;
  limit.hard = kernel_limit(resource).hard;  // lowered once and not to be raised again
  if (limit.soft > limit.hard) limit.soft = limit.hard;
  raw_syscall(SYS_prlimit64, 0, resource, word(&limit), 0);
}

Limit g_raised_address_space, g_raised_data;  // what the launcher made of the limits for the engine's sake

// A child that goes on natively has the engine's memory too, until it execs.
void give_limits_to_native_child() {
  const Limit space = g_address_space, data = g_data;  // no lock: nobody can give it back here
  set_kernel_limit(RLIMIT_AS, {plus(space.soft, engine_memory_bytes()), plus(space.hard, engine_memory_bytes())});
  set_kernel_limit(RLIMIT_DATA, {plus(data.soft, engine_data_bytes()), plus(data.hard, engine_data_bytes())});
  border::ProcessHeader& h = *g_process.header;
  const Limit given_space = kernel_limit(RLIMIT_AS), given_data = kernel_limit(RLIMIT_DATA);
  h.native_limit_address_space[0] = given_space.soft, h.native_limit_address_space[1] = given_space.hard;
  h.native_limit_data[0] = given_data.soft, h.native_limit_data[1] = given_data.hard;
}

}  // namespace

bool has_capability(int capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (raw_syscall(SYS_capget, word(&header), word(sets)) != 0) return false;
  return (sets[capability / 32].effective >> (capability % 32) & 1) != 0;
}

void start_resource_limits() {
  const border::ProcessHeader& h = *g_process.header;
  g_address_space = {h.app_limit_address_space[0], h.app_limit_address_space[1]};
  g_data = {h.app_limit_data[0], h.app_limit_data[1]};
  g_raised_address_space = kernel_limit(RLIMIT_AS);
  g_raised_data = kernel_limit(RLIMIT_DATA);
  g_process.going_native = &give_limits_to_native_child;
  g_heap_start = static_cast<uint64_t>(raw_syscall(SYS_brk, 0));
}

bool answer_limit_call(ThreadContext* c, uint64_t number, int64_t& result) {
  const uint64_t* g = c->app.gpr;
  switch (number) {
    case SYS_getrlimit:
    case SYS_setrlimit: {
      Limit* limit = limit_of(g[kRdi] & 0xffffffff);
      if (limit == nullptr) return false;
      if (g[kRsi] == 0) return result = -EFAULT, true;
      result = number == SYS_getrlimit ? exchange_at(*limit, 0, g[kRsi]) : exchange_at(*limit, g[kRsi], 0);
      return true;
    }
    case SYS_prlimit64: {
      Limit* limit = limit_of(g[kRsi] & 0xffffffff);
      if (limit == nullptr || !is_this_process(static_cast<uint64_t>(static_cast<int32_t>(g[kRdi])))) return false;
      result = exchange_at(*limit, g[kRdx], g[kR10]);
      return true;
    }
    default:
      return false;
  }
}

bool memory_is_unlimited() { return address_space_limit().soft == RLIM_INFINITY && data_limit().soft == RLIM_INFINITY; }

bool may_map(const MappedBytes& more) {
  const MappedBytes now = mapped_bytes();
  const Limit data = data_limit();
  // A soft limit of none at all means the hard one here, as Valgrind sets it to forbid the heap only.
  const uint64_t most_data = data.soft != 0 ? data.soft : data.hard;
  return now.all + more.all <= (address_space_limit().soft & ~4095ull) &&
         (more.data == 0 || now.data + more.data <= (most_data & ~4095ull));
}

bool heap_may_end_at(uint64_t end) { return end <= g_heap_start || end - g_heap_start <= data_limit().soft; }

void give_limits_to_kernel() {
  set_kernel_limit(RLIMIT_AS, address_space_limit());
  set_kernel_limit(RLIMIT_DATA, data_limit());
}

void take_limits_back() {
  set_kernel_limit(RLIMIT_AS, g_raised_address_space);
  set_kernel_limit(RLIMIT_DATA, g_raised_data);
}

Limit address_space_limit() {
  const std::lock_guard lock(g_lock);
  return g_address_space;
}

Limit data_limit() {
  const std::lock_guard lock(g_lock);
  return g_data;
}

}  // namespace simrun::engine
