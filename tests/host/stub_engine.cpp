// Stands in for the engine in the launcher's tests: does what a C++ program that was loaded privately can be expected to do (streams,
// threads, allocation, exceptions), then gives the thread back to the application exactly as the kernel would have started it.
//
// argv[1]: address of the shared mapping. SIMRUN_STUB=fail: report a failure instead.
#include <asm/prctl.h>
#include <mimalloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "instr/border/shared_memory.h"

using simrun::border::ProcessHeader;

namespace {

// Read by the assembly below.
struct Start {
  uint64_t pc, sp;
};
// An XSAVE image in compacted form with no component: everything becomes its initial state. (In the standard form it would have to be as
// long as if all were there.)
alignas(64) uint8_t g_initial_vector_state[576];

// registers := 0; vector state := initial; rsp := start.sp; jump to start.pc. FS and GS bases are 0 already.
[[noreturn]] void enter_application(const Start& start) {
  constexpr uint32_t kXcompBvOffset = 520;
  constexpr uint64_t kCompacted = 1ull << 63;
  std::memcpy(g_initial_vector_state + kXcompBvOffset, &kCompacted, sizeof kCompacted);
  asm volatile(
      "mov $-1, %%eax\n mov $-1, %%edx\n"
      "xrstor64 (%1)\n"
      "mov 8(%0), %%rsp\n"
      "push $0x202\n popfq\n"
      "mov (%0), %%rax\n"
      "mov %%rax, -16(%%rsp)\n"  // below the stack pointer: no one's
      // mov leaves the flags alone.
      "mov $0, %%eax\n mov $0, %%ebx\n mov $0, %%ecx\n mov $0, %%edx\n mov $0, %%esi\n mov $0, %%edi\n mov $0, %%ebp\n"
      "mov $0, %%r8d\n mov $0, %%r9d\n mov $0, %%r10d\n mov $0, %%r11d\n"
      "mov $0, %%r12d\n mov $0, %%r13d\n mov $0, %%r14d\n mov $0, %%r15d\n"
      "jmp *-16(%%rsp)\n"
      :
      : "r"(&start), "r"(g_initial_vector_state)
      : "rax", "rdx", "memory");
  __builtin_unreachable();
}

void exercise_libraries() {
  std::vector<std::unique_ptr<std::string>> strings;
  for (int i = 0; i < 10000; ++i) strings.push_back(std::make_unique<std::string>(100, 'x'));
  if (!mi_is_in_heap_region(strings.front().get())) throw std::runtime_error("malloc is not mimalloc's");
  long sums[4] = {};
  std::vector<std::thread> threads;
  for (long& sum : sums)
    threads.emplace_back([&sum] {
      std::vector<long> v(100000, 1);
      sum = std::accumulate(v.begin(), v.end(), 0L);
    });
  for (std::thread& t : threads) t.join();
  std::ostringstream out;
  out << sums[0] + sums[1] + sums[2] + sums[3];
  if (out.str() != "400000") throw std::runtime_error("threads do not add up: " + out.str());
  try {
    throw std::logic_error("unwinds");
  } catch (const std::logic_error&) {
  }
}

// Whether every mapping of ours lies outside [from, to).
bool nothing_between(uint64_t from, uint64_t to) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    char* rest;
    const uint64_t low = std::strtoull(line.c_str(), &rest, 16), high = std::strtoull(rest + 1, nullptr, 16);
    if (low < to && high > from && !(low == from && high == to)) return false;
  }
  return true;
}

void fail(ProcessHeader& h, const char* message) {
  std::strncpy(h.failure, message, sizeof h.failure - 1);
  h.engine_state = 3;
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 99;
  ProcessHeader& h = *reinterpret_cast<ProcessHeader*>(std::strtoull(argv[1], nullptr, 16));
  if (h.magic != simrun::border::kMagic || h.header_bytes != sizeof h) return 98;
  const char* asked = std::getenv("SIMRUN_STUB");
  try {
    exercise_libraries();
  } catch (const std::exception& e) {
    fail(h, e.what());
  }
  if (std::getenv("PATH")) fail(h, "the application's environment is visible");
  const char here = 0;
  const uint64_t sp = reinterpret_cast<uint64_t>(&here);
  if (sp < h.engine_stack_base || sp >= h.engine_stack_base + h.engine_stack_bytes) fail(h, "main is not on the engine's stack");
  if (h.blanket_bytes != 0 && !nothing_between(h.blanket_base, h.blanket_base + h.blanket_bytes)) fail(h, "mappings in the blanket");
  if (asked && std::string(asked) == "fail") fail(h, "as asked");
  if (h.blanket_bytes != 0) munmap(reinterpret_cast<void*>(h.blanket_base), h.blanket_bytes);
  for (const simrun::border::AddressRange& gap : h.blanket_gaps)
    if (gap.bytes != 0) munmap(reinterpret_cast<void*>(gap.base), gap.bytes);
  static Start start;  // not on the stack: rsp changes under its feet
  start = {h.app_pc, h.app_sp};
  h.engine_state = 1;
  // What our C library registered for this thread.
  syscall(SYS_set_robust_list, nullptr, 24);
  syscall(SYS_set_tid_address, nullptr);
  // The C library's handler for set*id in all threads (SIGSETXID), installed by the first pthread_create.
  constexpr struct { uint64_t handler, flags, restorer, mask; } kDefault{};
  syscall(SYS_rt_sigaction, 33, &kDefault, nullptr, sizeof kDefault.mask);
  syscall(SYS_arch_prctl, ARCH_SET_FS, 0);
  enter_application(start);
}
