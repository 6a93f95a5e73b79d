#include "instr/engine/syscalls/signal_to_parent.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/syscalls/halt_sharer.h"

namespace simrun::engine {
namespace {

// 0: there is none that can be seen.
uint64_t parent_of(uint64_t process) {
  constexpr size_t kBehindState = 2;
  char text[kStatBytes];
  const std::string_view stat = read_stat(process, text);
  uint64_t parent = 0;
  if (stat.size() > kBehindState) std::from_chars(stat.data() + kBehindState, stat.data() + stat.size(), parent);
  return parent;
}

// Which PID namespace that process is in; 0: it cannot be seen.
uint64_t namespace_of(std::string_view process) {
  char path[48] = "/proc/";
  char* end = std::copy(process.begin(), process.end(), path + 6);
  constexpr std::string_view kRest = "/ns/pid";
  std::copy(kRest.begin(), kRest.end(), end);
  struct stat s {};
  return raw_syscall(SYS_newfstatat, static_cast<uint64_t>(AT_FDCWD), word(path), word(&s), 0) == 0 ? s.st_ino : 0;
}

// In another namespace simrun's number is another process's.
bool is_simulator(int32_t pid) {
  const int32_t simulator = __atomic_load_n(&g_process.header->simulator_pid, __ATOMIC_RELAXED);
  if (simulator <= 0 || pid != simulator) return false;
  if (raw_syscall(SYS_getppid) == simulator) return true;
  char digits[16];
  const std::to_chars_result end = std::to_chars(digits, std::end(digits), pid);
  const uint64_t its = namespace_of({digits, end.ptr});
  return its != 0 && its == namespace_of("self");
}

}  // namespace

bool answer_signal_to_parent(const ThreadContext* c, uint64_t number, int64_t& result) {
  const uint64_t* g = c->app.gpr;
  const bool by_thread = number == SYS_tgkill && static_cast<uint32_t>(g[kRdi]) == static_cast<uint32_t>(g[kRsi]);
  if (number != SYS_kill && number != SYS_rt_sigqueueinfo && number != SYS_tkill && !by_thread) return false;
  if (!is_simulator(static_cast<int32_t>(g[kRdi]))) return false;
  const uint64_t parent = parent_of(static_cast<uint64_t>(g[kRdi]));
  if (parent == 0) return false;
  result = raw_syscall(static_cast<int64_t>(number), parent, by_thread ? parent : g[kRsi], g[kRdx]);
  return true;
}

}  // namespace simrun::engine
