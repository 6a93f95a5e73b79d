#include "instr/host/remote_process.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/process_maps.h"
#include "base/user_error.h"
#include "instr/host/file_descriptor.h"

namespace simrun::host {
namespace {

constexpr int kSyscallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD
constexpr uint64_t kInitialFlags = 0x202;     // interrupts on, as ELF_PLAT_INIT leaves them

[[noreturn]] void throw_access_error(const char* what) {
  const bool is_refused = errno == EPERM || errno == EACCES;
  throw UserError(fmt::format("cannot prepare the program: {}: {}{}", what, std::strerror(errno),
                              is_refused ? "; simrun must be allowed to ptrace it and to read its file" : ""));
}

bool is_fault(int signal) { return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL; }

// Where the call's instruction can be put for a while: where the thread is, if code runs there at all and nobody else
// has that memory, else the first such place, the vdso at the latest. Where the mappings are not known, where the thread is.
uint64_t place_for_instruction(pid_t pid, uint64_t pc) {
  constexpr uint64_t kUserEnd = 1ull << 47;
  std::vector<MapsEntry> maps;
  if (read_maps_file(fmt::format("/proc/{}/maps", pid).c_str(), &maps) != 0) return pc;
  std::optional<uint64_t> other;
  for (const MapsEntry& e : maps) {
    if (!e.executable || e.shared || e.end > kUserEnd) continue;
    if (e.start <= pc && pc + sizeof(long) <= e.end) return pc;
    if (!other) other = e.start;
  }
  if (!other) throw UserError(fmt::format("cannot prepare process {}: nothing in it can be executed", pid));
  return *other;
}

}  // namespace

RemoteProcess::RemoteProcess(pid_t pid) : pid_(pid) {
  block_signals();
  // Out of execve first: on its way back it would overwrite rax.
  run_to_syscall_stop();
  if (ptrace(PTRACE_GETREGS, pid_, nullptr, &initial_) != 0) throw_access_error("PTRACE_GETREGS");
  put_instruction();
}

RemoteProcess::RemoteProcess(pid_t tid, const user_regs_struct& registers) : pid_(tid), initial_(registers) {
  block_signals();
  put_instruction();
}

void RemoteProcess::block_signals() {
  if (ptrace(PTRACE_GETSIGMASK, pid_, sizeof signal_mask_, &signal_mask_) != 0) throw_access_error("PTRACE_GETSIGMASK");
  const uint64_t all = ~uint64_t{0};
  if (ptrace(PTRACE_SETSIGMASK, pid_, sizeof all, &all) != 0) throw_access_error("PTRACE_SETSIGMASK");
}

void RemoteProcess::put_instruction() {
  instruction_ = place_for_instruction(pid_, initial_.rip);
  errno = 0;
  saved_text_ = ptrace(PTRACE_PEEKTEXT, pid_, instruction_, nullptr);
  if (errno != 0) throw_access_error("PTRACE_PEEKTEXT");
  const long syscall_instruction = (saved_text_ & ~0xffffL) | 0x050f;
  if (ptrace(PTRACE_POKETEXT, pid_, instruction_, syscall_instruction) != 0) throw_access_error("PTRACE_POKETEXT");
}

bool has_been_killed(pid_t pid) {
  siginfo_t info{};
  if (ptrace(PTRACE_GETSIGINFO, pid, nullptr, &info) != 0) return errno == ESRCH;
  return info.si_code == (SIGTRAP | PTRACE_EVENT_EXIT << 8);
}

bool is_gone(pid_t pid) {
  const FileDescriptor file(open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t n = file ? read(file.get(), text, sizeof text - 1) : -1;
  if (n <= 0) return file || errno == ENOENT || errno == ESRCH;
  text[n] = 0;
  const char* state = std::strrchr(text, ')');
  return state == nullptr || state[2] == 'Z' || state[2] == 'X';
}

void RemoteProcess::run_on(int request, int signal) {
  if (has_been_killed(pid_)) throw_killed();
  if (ptrace(static_cast<__ptrace_request>(request), pid_, nullptr, signal) != 0) throw_access_error("PTRACE_SYSCALL");
}

void RemoteProcess::throw_killed() const { throw UserError(fmt::format("the program (process {}) was killed before it started", pid_)); }

// Its end is left for who waits for it: of the launched process that is the status with which simrun ends.
int RemoteProcess::wait_for_stop() {
  siginfo_t info{};
  for (;;) {
    const int looked = waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT | __WALL);
    if (looked != 0 && errno == EINTR) continue;
    if (looked != 0 && errno != ECHILD) throw_access_error("waitid");
    const bool stopped = looked == 0 && (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED);
    if (!stopped || info.si_status >> 8 == PTRACE_EVENT_EXIT) throw_killed();
    info.si_pid = 0;
    const int taken = waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | __WALL);
    if (taken == 0 && info.si_pid != 0) return info.si_status << 8 | 0x7f;   // as waitpid has it
  }
}

void RemoteProcess::run_to_syscall_stop() {
  for (;;) {
    run_on(PTRACE_SYSCALL, 0);
    const int status = wait_for_stop();
    if (WSTOPSIG(status) == kSyscallStop) return;
    if (status >> 16 != 0) continue;
    // All signals are blocked: it can only be the instruction itself.
    if (is_fault(WSTOPSIG(status)))
      throw UserError(fmt::format("cannot prepare process {}: signal {} where a system call is made in it", pid_,
                                  WSTOPSIG(status)));
    held_signal_ = WSTOPSIG(status);
  }
}

void RemoteProcess::set_registers(const user_regs_struct& registers) {
  if (ptrace(PTRACE_SETREGS, pid_, nullptr, &registers) != 0) throw_access_error("PTRACE_SETREGS");
}

int64_t RemoteProcess::call(long number, std::array<uint64_t, 6> a) {
  user_regs_struct r = initial_;
  r.orig_rax = ~0ull;  // not in a system call: nothing to restart
  r.rip = instruction_;
  r.rax = static_cast<uint64_t>(number);
  r.rdi = a[0], r.rsi = a[1], r.rdx = a[2], r.r10 = a[3], r.r8 = a[4], r.r9 = a[5];
  set_registers(r);
  run_to_syscall_stop();  // entry
  run_to_syscall_stop();  // exit
  if (ptrace(PTRACE_GETREGS, pid_, nullptr, &r) != 0) throw_access_error("PTRACE_GETREGS");
  return static_cast<int64_t>(r.rax);
}

uint64_t RemoteProcess::must_call(const std::string& what, long number, std::array<uint64_t, 6> arguments) {
  const int64_t result = call(number, arguments);
  if (result < 0 && result > -4096) {
    const int error = static_cast<int>(-result);
    const char* advice = error == ENOMEM   ? " (too little memory, or a limit on it: see `ulimit -a`)"
                         : error == EMFILE ? " (no free file descriptor: raise `ulimit -n`)"
                                           : "";
    throw UserError(fmt::format("cannot {} in process {}: {}{}", what, pid_, std::strerror(error), advice));
  }
  return static_cast<uint64_t>(result);
}

void RemoteProcess::write(uint64_t address, const void* bytes, size_t count) {
  const iovec local{const_cast<void*>(bytes), count};
  const iovec remote{reinterpret_cast<void*>(address), count};
  if (process_vm_writev(pid_, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(count)) throw_access_error("process_vm_writev");
}

std::string RemoteProcess::read_string(uint64_t address) {
  constexpr uint64_t kPage = 4096;
  std::string result;
  for (;;) {
    char part[kPage];
    const iovec local{part, kPage - (address + result.size()) % kPage};
    const iovec remote{reinterpret_cast<void*>(address + result.size()), local.iov_len};
    const ssize_t n = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    if (n <= 0) return result;
    const size_t length = strnlen(part, static_cast<size_t>(n));
    result.append(part, length);
    if (length < static_cast<size_t>(n)) return result;
  }
}

void RemoteProcess::give_back() noexcept {
  ptrace(PTRACE_POKETEXT, pid_, instruction_, saved_text_);
  user_regs_struct r = initial_;
  r.orig_rax = ~0ull;
  ptrace(PTRACE_SETREGS, pid_, nullptr, &r);
  ptrace(PTRACE_SETSIGMASK, pid_, sizeof signal_mask_, &signal_mask_);
}

void RemoteProcess::prepare_start(uint64_t pc, uint64_t sp, bool block_signals) {
  if (ptrace(PTRACE_POKETEXT, pid_, instruction_, saved_text_) != 0) throw_access_error("PTRACE_POKETEXT");
  user_regs_struct r{};
  r.cs = initial_.cs, r.ss = initial_.ss, r.ds = initial_.ds, r.es = initial_.es, r.fs = initial_.fs, r.gs = initial_.gs;
  r.orig_rax = ~0ull;
  r.eflags = kInitialFlags;
  r.rip = pc;
  r.rsp = sp;
  set_registers(r);
  const uint64_t mask = block_signals ? ~uint64_t{0} : signal_mask_;
  if (ptrace(PTRACE_SETSIGMASK, pid_, sizeof mask, &mask) != 0) throw_access_error("PTRACE_SETSIGMASK");
}

void RemoteProcess::run_to_call_boundary() {
  for (int signal = 0, request = PTRACE_SYSCALL;;) {
    run_on(request, signal);
    const int status = wait_for_stop();
    if (WSTOPSIG(status) == kSyscallStop) return;
    const bool group_stop = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
    request = group_stop ? PTRACE_LISTEN : PTRACE_SYSCALL;
    signal = status >> 16 == 0 ? WSTOPSIG(status) : 0;
  }
}

user_regs_struct RemoteProcess::registers() {
  user_regs_struct r;
  if (ptrace(PTRACE_GETREGS, pid_, nullptr, &r) != 0) throw_access_error("PTRACE_GETREGS");
  return r;
}

void RemoteProcess::detach() {
  if (ptrace(PTRACE_DETACH, pid_, nullptr, held_signal_) != 0) throw_access_error("PTRACE_DETACH");
}

std::map<uint64_t, uint64_t> read_auxiliary_vector(pid_t pid) {
  const FileDescriptor file(open(fmt::format("/proc/{}/auxv", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::map<uint64_t, uint64_t> vector;
  for (Elf64_auxv_t entry; read(file.get(), &entry, sizeof entry) == sizeof entry && entry.a_type != AT_NULL;)
    vector[entry.a_type] = entry.a_un.a_val;
  if (vector.empty()) throw_access_error("reading its auxiliary vector (is /proc mounted?)");
  return vector;
}

}  // namespace simrun::host
