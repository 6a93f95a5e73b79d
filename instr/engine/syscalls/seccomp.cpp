#include "instr/engine/syscalls/seccomp.h"

#include <linux/audit.h>
#include <linux/prctl.h>

#include <cerrno>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/syscalls/filter_program.h"
#include "instr/engine/syscalls/syscalls.h"

namespace simrun::engine {

// One filter; the older ones hang behind it, as in the kernel. Never freed: threads share the tails.
struct FilterChain {
  FilterProgram program;
  bool listens;   // a supervisor is asked where it says so (SECCOMP_RET_USER_NOTIF)
  const FilterChain* older;
};

namespace {

constexpr uint64_t kSyscallInstructionBytes = 2;

// What filters must let pass: the engine's text and its emitted routines, of which the kernel sees the address behind
// the syscall instruction.
std::vector<CodeRange> engine_code() {
  constexpr uint64_t kUserEnd = 1ull << 47, kNear = 16 << 20, kPart = 1ull << 32;
  std::vector<CodeRange> ranges;
  border::AddressRange part;
  for (uint64_t at = 0; find_engine_code(at, kUserEnd, part); at = part.base + part.bytes) {
    if (g_code_cache.contains(part.base)) continue;
    // Libraries lie close together, with data between their texts: one range.
    if (!ranges.empty() && part.base - ranges.back().to < kNear && part.base / kPart == ranges.back().from / kPart)
      ranges.back().to = part.base + part.bytes;
    else
      ranges.push_back({part.base, part.base + part.bytes});
  }
  ranges.push_back({g_code_cache.execute_base(), g_routines.end});
  return ranges;
}

std::vector<uint64_t> application_calls() {
  return {g_routines.gate_instruction + kSyscallInstructionBytes,
          g_routines.gate32_instruction + kSyscallInstructionBytes,
          g_routines.clone_instruction + kSyscallInstructionBytes};
}

// kernel/seccomp.c, __seccomp_filter: the most severe action; of equals, that of the newest filter.
Verdict run_filters(const ThreadContext* c, uint64_t number) {
  const uint64_t* g = c->app.gpr;
  const seccomp_data data{
      static_cast<int>(number), AUDIT_ARCH_X86_64, c->app.pc, {g[kRdi], g[kRsi], g[kRdx], g[kR10], g[kR8], g[kR9]}};
  const auto action = [](uint32_t value) { return static_cast<int32_t>(value & SECCOMP_RET_ACTION_FULL); };
  uint32_t result = SECCOMP_RET_ALLOW;
  bool listens = false;
  for (const FilterChain* f = c->filters; f != nullptr; f = f->older) {
    const uint32_t value = run_filter(f->program, data);
    if (action(value) < action(result)) result = value, listens = f->listens;
  }
  switch (result & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG: return Verdict::kAllowed;
    // It may say that the call is to be made, so that it must not be made as it is.
    case SECCOMP_RET_USER_NOTIF: return listens ? Verdict::kAsked : Verdict::kKernelDecides;
    default: return Verdict::kKernelDecides;
  }
}

// Adds the filter to the chain of this thread; with TSYNC all threads of its process have this chain now, not those of others that share the memory.
void note_filter(ThreadContext* c, FilterProgram program, uint64_t flags) {
  const auto* chain = new FilterChain{std::move(program), (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0, c->filters};
  c->filters = chain;
  if (!(flags & SECCOMP_FILTER_FLAG_TSYNC)) return;
  const uint32_t slots = g_process.header->slots_used.load();
  const auto process = static_cast<uint64_t>(raw_syscall(SYS_getpid));
  for (uint32_t k = 0; k < slots; ++k) {
    ThreadContext* const other = g_process.slot(k);
    if (other->ring.state.load() != static_cast<uint32_t>(border::ThreadState::kFree) && raw_syscall(SYS_tgkill, process, other->tid, 0) == 0)
      other->filters = chain;
  }
}

bool read_program(uint64_t at, sock_fprog& header, FilterProgram& program) {
  if (!read_app(&header, at, sizeof header)) return false;
  if (header.len == 0 || header.len > BPF_MAXINSNS) return false;
  program.resize(header.len);
  return read_app(program.data(), word(header.filter), header.len * sizeof(sock_filter));
}

// The call itself, with another program in the place of the application's. False: a signal came.
bool call_with(ThreadContext* c, FilterProgram& program) {
  uint64_t& program_at = c->app.gpr[kRdx];
  sock_fprog ours{static_cast<uint16_t>(program.size()), program.data()};
  const uint64_t before = program_at;
  program_at = word(&ours);
  const bool made = pass_through(c);
  program_at = before;
  return made;
}

// What the kernel refuses (a mistake in the program or the flags, a lack of privileges) is not ours to give up for. It is asked with one that lets
// everything pass, else as wrong as this one.
bool is_refused(ThreadContext* c, FilterProgram program, bool& signalled) {
  for (sock_filter& i : program)
    if (i.code == (BPF_RET | BPF_K) || i.code == (BPF_RET | BPF_A)) i = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  signalled = !call_with(c, program);
  return signalled || static_cast<int64_t>(c->app.gpr[kRax]) < 0;
}

bool set_filter(ThreadContext* c, uint64_t number, int64_t& result, bool& signalled) {
  const uint64_t flags = number == SYS_seccomp ? c->app.gpr[kRsi] : 0;
  sock_fprog header;
  FilterProgram program;
  if (!read_program(c->app.gpr[kRdx], header, program)) {   // the kernel knows which of its mistakes comes first
    signalled = !pass_through(c);
    result = static_cast<int64_t>(c->app.gpr[kRax]);
    return true;
  }
  FilterProgram installed = with_exemptions(program, engine_code(), application_calls());
  const bool asks_for_pc = reads_instruction_pointer(program);
  if ((asks_for_pc || installed.size() > BPF_MAXINSNS) && is_refused(c, program, signalled)) {
    result = static_cast<int64_t>(c->app.gpr[kRax]);
    return true;
  }
  if (asks_for_pc)
    fail(
        "the program sets a seccomp filter that asks for the instruction pointer of system calls, which is not its own "
        "under simrun");
  if (installed.size() > BPF_MAXINSNS)
    fail("the program sets a seccomp filter of %zu instructions: simrun needs room for %zu more than that, of %d",
         program.size(), installed.size() - program.size(), BPF_MAXINSNS);
  signalled = !call_with(c, installed);
  result = static_cast<int64_t>(c->app.gpr[kRax]);
  const bool listener = (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0;
  if (!signalled && (result == 0 || (listener && result > 0))) note_filter(c, std::move(program), flags);
  return true;
}

int64_t set_strict(ThreadContext* c) {
  if (c->filters != nullptr) return -EINVAL;
  c->strict = 1;
  return 0;
}

}  // namespace

Verdict judge_call(const ThreadContext* c, uint64_t number) {
  if (c->strict != 0) {
    const bool allowed = number == SYS_read || number == SYS_write || number == SYS_exit || number == SYS_rt_sigreturn;
    return allowed ? Verdict::kAllowed : Verdict::kKilled;
  }
  return c->filters == nullptr ? Verdict::kAllowed : run_filters(c, number);
}

bool answer_seccomp_call(ThreadContext* c, uint64_t number, int64_t& result, bool& signalled) {
  const uint64_t* g = c->app.gpr;
  signalled = false;
  if (number == SYS_prctl && (g[kRdi] & 0xffffffff) == PR_SET_SECCOMP) {
    if (g[kRsi] == SECCOMP_MODE_STRICT) return result = set_strict(c), true;
    return g[kRsi] == SECCOMP_MODE_FILTER && set_filter(c, number, result, signalled);
  }
  if (number == SYS_seccomp) {
    if ((g[kRdi] & 0xffffffff) == SECCOMP_SET_MODE_STRICT) {
      result = g[kRsi] != 0 || g[kRdx] != 0 ? -EINVAL : set_strict(c);
      return true;
    }
    return (g[kRdi] & 0xffffffff) == SECCOMP_SET_MODE_FILTER && set_filter(c, number, result, signalled);
  }
  return false;
}

}  // namespace simrun::engine
