// The engine's start: an ordinary main in a private namespace of the target process (ARCHITECTURE.md, section 2). Finds the shared mapping,
// makes its parts, becomes the application's first thread.
#include <asm/prctl.h>
#include <cpuid.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/processor_features.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/signal_mask.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/descriptor_tables.h"
#include "instr/engine/dispatch/indirect_table.h"
#include "instr/engine/dispatch/safe_points.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/runtime/dispatcher.h"
#include "instr/engine/runtime/fault_report.h"
#include "instr/engine/runtime/uncopied_instructions.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/signals/vector_frame.h"
#include "instr/engine/syscalls/mapping_calls.h"
#include "instr/engine/syscalls/resource_limits.h"
#include "instr/engine/syscalls/watch_mappings.h"
#include "instr/engine/translate/address_space.h"
#include "instr/engine/translate/code_access.h"
#include "instr/engine/translate/superblock.h"
#include "instr/engine/threads/attached.h"
#include "instr/engine/threads/identity.h"
#include "instr/engine/threads/threads.h"

namespace simrun::engine {

Process g_process;

bool borrows_memory() { return raw_syscall(SYS_getpid) != g_process.pid; }

void fail(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  if (g_process.header != nullptr) {
    std::vsnprintf(g_process.header->failure, sizeof g_process.header->failure, format, arguments);
    g_process.header->engine_state.store(3);
  }
  va_end(arguments);
  raw_syscall(SYS_exit_group, 125);
  __builtin_unreachable();
}

void fail_inside(const char* format, ...) {
  char what[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  write_fault_report(what);
  fail("engine fault: %s", what);
}

namespace {

void report_check(const char* file, int line, const char* expression) {
  fail_inside("%s:%d: check failed: %s", file, line, expression);
}

bool is_intel() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0, &a, &b, &c, &d) != 0 && b == signature_INTEL_ebx && c == signature_INTEL_ecx;
}

// Zen and its relatives; elsewhere `loop` takes several cycles.
bool loop_is_fast() {
  constexpr uint32_t kHygo = 0x6f677948, kUine = 0x656e6975;   // HygonGenuine
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return false;
  return (b == signature_AMD_ebx && c == signature_AMD_ecx) || (b == kHygo && c == kUine);
}

// Not before Zen 3, where it is microcode.
bool pext_is_fast() {
  if (!has_feature(Feature::kBmi2)) return false;
  if (is_intel()) return true;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_AMD_ebx || c != signature_AMD_ecx || !__get_cpuid(1, &a, &b, &c, &d)) return false;
  const uint32_t family = (a >> 8 & 0xf) + (a >> 20 & 0xff);
  return family >= 0x19;
}

void load_initial_state(ThreadContext* c) {
  const border::ProcessHeader& h = *g_process.header;
  c->app = {};
  c->app.gpr[kRsp] = h.app_sp;
  c->app.pc = h.app_pc;
  c->app.flags = 0x202;
  c->app_fs_base = c->app_gs_base = 0;
  c->app_altstack = stack_t{};   // as after execve; of other threads it is disabled
  reset_vector_state(c);
}

ThreadContext* adopt_first_thread() {
  const border::ProcessHeader& h = *g_process.header;
  ThreadContext* c = take_slot();
  CHECK(c != nullptr);
  void* signal_stack = map_engine_memory(kSignalStackBytes);
  CHECK(signal_stack != MAP_FAILED);
  c->identity = own_identity(word(static_cast<char*>(__builtin_frame_address(0)) - 4096) & ~63ull, signal_stack);
  c->engine_fs_base = c->identity->fs_base;
  c->engine_sp = c->identity->stack_top;
  use_signal_stack(c, signal_stack);
  if (h.base_instructions != 0)
    asm volatile("wrgsbase %0" : : "r"(c));
  else
    raw_syscall(SYS_arch_prctl, ARCH_SET_GS, word(c));
  if (h.attached_threads == 0)
    load_initial_state(c);
  else
    load_attached_state(c, 0);
  c->tid = static_cast<uint32_t>(raw_syscall(SYS_gettid));
  c->ring.tid.store(c->tid);
  append_event(c, border::Event::kThreadStart, {c->tid, ~0ull, c->app_fs_base});
  if (h.count_interval != 0) append_event(c, border::Event::kInterval, {0, c->app.pc, 0});
  set_thread_state(c, border::ThreadState::kRunning);
  return c;
}

// What the private C library told the kernel in the application's name.
void forget_private_library() {
  restore_unowned_actions();
  const border::ProcessHeader& h = *g_process.header;
  raw_syscall(SYS_set_robust_list, h.app_robust_list, 24);
  raw_syscall(SYS_set_tid_address, h.app_tid_address);
}

void remove_blanket() {
  const border::ProcessHeader& h = *g_process.header;
  if (h.blanket_bytes != 0) raw_syscall(SYS_munmap, h.blanket_base, h.blanket_bytes);
  for (const border::AddressRange& gap : h.blanket_gaps)
    if (gap.bytes != 0) raw_syscall(SYS_munmap, gap.base, gap.bytes);
}

[[noreturn]] void run(uint64_t mapping) {
  g_process.header = reinterpret_cast<border::ProcessHeader*>(mapping);
  g_process.base = reinterpret_cast<uint8_t*>(mapping);
  border::ProcessHeader& h = *g_process.header;
  if (h.magic != border::kMagic || h.version != border::kVersion || h.header_bytes != sizeof h)
    fail("the engine and simrun are of different versions: build both again");
  set_check_reporter(&report_check);
  g_process.mode = h.mode;
  g_long_wait = &check_holder;
  g_process.pid = raw_syscall(SYS_getpid);
  read_vector_layout();
  CHECK(make_indirect_table());
  if (!g_code_cache.create(h.code_cache_bytes)) fail("no memory for a code cache of %lu bytes: %s", h.code_cache_bytes, std::strerror(errno));
  h.code_base = g_code_cache.execute_base();
  emit_fixed_routines(g_code_cache, g_process.xsave_mask);
  g_can_read = [](AppAddress at) {
    uint8_t byte;
    return g_routines.copy(&byte, reinterpret_cast<const void*>(raw(at)), 1) != 0;
  };
  g_narrow_branches = !is_intel();
  g_answers_cpuid = h.max_superblock_instructions == 1 || has_unknown_features();   // the slow and obvious way does both
  g_bases_are_ours = h.base_instructions == 0;
  g_has_protection_keys = has_feature(Feature::kOsProtectionKeys);
  start_descriptor_tables();
  start_code_table({.mode = h.mode,
                    .share_words = h.elide_words != 0,
                    .max_instructions = std::clamp(h.max_superblock_instructions, 1u, kMaxSuperblockInstructions),
                    .avx512bw = has_feature(Feature::kAvx512Bw),
                    .bmi2 = has_feature(Feature::kBmi2),
                    .leave = g_routines.leave,
                    .watched = h.watch_calls == 1 ? &h.watched : nullptr,
                    .count_paths = h.count_paths != 0,
                    .indirect_miss = g_routines.indirect_miss,
                    .loop_is_fast = loop_is_fast(),
                    .unroll_loops = h.unroll_loops != 0,
                    .exact_stops = h.count_interval != 0 || h.count_interval_threads != 0 || h.count_paths != 0 || h.mode_switches != 0,
                    .pext_is_fast = pext_is_fast(),
                    .live_pointer = h.live_words != 0,
                    .counts_comparisons = h.protect_code_after != 0,
                    .fs_is_ours = h.base_instructions == 0,
                    .has_tiles = has_feature(Feature::kAmxTile)});
  start_signals();
  make_first_identity();
  forget_private_library();
  ThreadContext* c = adopt_first_thread();
  remove_blanket();
  const auto* const application = reinterpret_cast<const border::AddressRange*>(g_process.base + h.app_mappings_offset);
  int error = note_engine_mappings(application, h.app_mappings);
  if (error == 0) error = read_address_space();
  if (error != 0) fail("the engine cannot read /proc/thread-self/maps: %s", std::strerror(error));
  start_resource_limits();
  start_mapping_calls();
  if (!adopt_other_threads()) fail("no room for all threads of the process");
  h.thread_start = g_routines.thread_start;
  h.gate_end = g_routines.gate_instruction + 2;
  h.gate_abort = g_routines.gate_abort;
  h.engine_state.store(1);
  report_first_mappings(c);
  if (h.attached_threads != 0) set_signal_mask(c->app_mask);
  enter_code_cache(c, dispatch(c));
}

}  // namespace
}  // namespace simrun::engine

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("simrun-engine: started by simrun inside the program that it runs; not a command\n", stderr);
    return 2;
  }
  simrun::engine::run(std::strtoull(argv[argc - 1], nullptr, 16));
}
