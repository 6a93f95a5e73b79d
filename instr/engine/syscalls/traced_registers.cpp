#include "instr/engine/syscalls/traced_registers.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <algorithm>
#include <cstddef>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/signals/vector_frame.h"
#include "instr/engine/syscalls/halt_sharer.h"

namespace simrun::engine {
namespace {

constexpr uint64_t kFxsaveBytes = 512, kSoftwareBytesAt = 464;  // of the legacy region, the last 48 are the kernel's
constexpr uint64_t kResumeFlag = 1 << 16;

// In a system call of the application's, as the kernel sees it.
bool is_in_call(const ThreadContext* thread) {
  constexpr uint64_t kCallBytes = 2;   // syscall, int 0x80
  uint64_t at = 0;
  raw_syscall(SYS_ptrace, PTRACE_PEEKUSER, thread->tid, offsetof(user_regs_struct, rip), word(&at));
  return at == g_routines.gate_instruction + kCallBytes || at == g_routines.gate32_instruction + kCallBytes ||
         at == g_routines.clone_instruction + kCallBytes || at == g_routines.judged_clone_instruction + kCallBytes;
}

// Selectors stay as the kernel gave them, and in a system call what it says of the call.
void put_application(const ThreadContext* thread, user_regs_struct& r) {
  const uint64_t* g = thread->app.gpr;
  r.rcx = g[kRcx], r.rdx = g[kRdx], r.rbx = g[kRbx], r.rsp = g[kRsp], r.rbp = g[kRbp], r.rsi = g[kRsi], r.rdi = g[kRdi];
  r.r8 = g[8], r.r9 = g[9], r.r10 = g[10], r.r11 = g[11], r.r12 = g[12], r.r13 = g[13], r.r14 = g[14], r.r15 = g[15];
  r.rip = thread->app.pc;
  r.eflags = (r.eflags & kResumeFlag) | thread->app.flags;
  r.fs_base = thread->app_fs_base;
  r.gs_base = thread->app_gs_base;
  if (is_in_call(thread)) return;
  r.rax = g[kRax];
  r.orig_rax = ~0ull;
}

void show_general(const ThreadContext* thread, uint64_t at, uint64_t bytes) {
  user_regs_struct r{};
  if (bytes > sizeof r || !read_app(&r, at, bytes)) return;
  put_application(thread, r);
  write_app(at, &r, bytes);
}

// FXSAVE's image, or XSAVE's in standard format; both have kSoftwareBytesAt.
void show_vectors(ThreadContext* thread, uint64_t at, uint64_t bytes) {
  alignas(64) uint8_t image[sizeof thread->vector_state];
  write_vector_image(thread, image);
  uint64_t present;
  if (bytes >= kFxsaveBytes + sizeof present) {
    if (!read_app(&present, at + kFxsaveBytes, sizeof present)) return;
    // Components that the engine leaves alone (PKRU) lie behind the others.
    present &= ~g_process.xsave_mask;
    image[kFxsaveBytes] |= static_cast<uint8_t>(present);
    image[kFxsaveBytes + 1] |= static_cast<uint8_t>(present >> 8);
  }
  write_app(at, image, std::min(bytes, kSoftwareBytesAt));
  if (bytes > kFxsaveBytes)
    write_app(at + kFxsaveBytes, image + kFxsaveBytes,
              std::min<uint64_t>(bytes, g_process.xsave_standard_bytes) - kFxsaveBytes);
}

void show_set(ThreadContext* thread, uint64_t kind, uint64_t vector) {
  iovec set;
  if (!read_app(&set, vector, sizeof set)) return;
  const auto at = reinterpret_cast<uint64_t>(set.iov_base);
  if (kind == NT_PRSTATUS) show_general(thread, at, set.iov_len);
  if (kind == NT_PRFPREG || kind == NT_X86_XSTATE) show_vectors(thread, at, set.iov_len);
}

void show_word(const ThreadContext* thread, uint64_t offset, uint64_t at) {
  user_regs_struct r{};
  char* const there = reinterpret_cast<char*>(&r) + offset;
  if (offset > sizeof r - 8 || offset % 8 != 0 || !read_app(there, at, 8)) return;
  put_application(thread, r);
  write_app(at, there, 8);
}

}  // namespace

void after_trace_call(ThreadContext* c, const uint64_t* a) {
  const auto request = static_cast<int>(a[0]);
  if (request != PTRACE_GETREGS && request != PTRACE_GETREGSET && request != PTRACE_GETFPREGS &&
      request != PTRACE_PEEKUSER)
    return;
  if (static_cast<int64_t>(c->app.gpr[kRax]) < 0) return;
  ThreadContext* const thread = sharer(c, a[1]);
  if (thread == nullptr || thread->in_cache.load() != 0)
    return;  // stopped by something else than the tracer's own wish
  if (request == PTRACE_GETREGS) show_general(thread, a[3], sizeof(user_regs_struct));
  if (request == PTRACE_GETREGSET) show_set(thread, a[2], a[3]);
  if (request == PTRACE_GETFPREGS) show_vectors(thread, a[3], kFxsaveBytes);
  if (request == PTRACE_PEEKUSER) show_word(thread, a[2], a[3]);
}

}  // namespace simrun::engine
