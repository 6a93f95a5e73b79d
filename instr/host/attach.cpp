#include "instr/host/attach.h"

#include <elf.h>
#include <fmt/format.h>
#include <linux/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "base/user_error.h"
#include "instr/host/elf_file.h"
#include "instr/host/file_descriptor.h"
#include "instr/host/inject.h"
#include "instr/host/mapped_files.h"
#include "instr/host/shared_mapping.h"
#include "instr/host/stopped_threads.h"

#include <fcntl.h>

namespace simrun::host {
namespace {

using border::AttachedThread;

constexpr int kStartPatienceMilliseconds = 60'000;
constexpr auto kGetRseqConfiguration = static_cast<__ptrace_request>(0x420f);   // PTRACE_GET_RSEQ_CONFIGURATION, Linux 5.13
struct RseqConfiguration {
  uint64_t address;
  uint32_t bytes, signature, flags, padding;
};

[[noreturn]] void refuse(pid_t pid, const std::string& why) { throw UserError(fmt::format("cannot attach to process {}: {}", pid, why)); }

std::string field_of_status(pid_t pid, const std::string& name) {
  std::ifstream in(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  return "";
}

uint64_t number_of_status(pid_t pid, const std::string& name) { return std::strtoull(field_of_status(pid, name).c_str(), nullptr, 10); }

bool has_engine(pid_t pid) {
  const std::vector<MapsEntry> maps = read_process_maps(pid);
  return std::any_of(maps.begin(), maps.end(), [](const MapsEntry& e) { return e.path.starts_with("/memfd:simrun"); });
}

// Its threads have other numbers there than here. A namespace that cannot be looked at counts as ours.
bool is_in_another_pid_namespace(pid_t pid) {
  struct stat own, other;
  return stat("/proc/self/ns/pid", &own) == 0 && stat(fmt::format("/proc/{}/ns/pid", pid).c_str(), &other) == 0 && own.st_ino != other.st_ino;
}

}  // namespace

void check_process(pid_t pid) {
  check_proc();
  if (pid == getpid()) refuse(pid, "that is simrun itself");
  if (kill(pid, 0) != 0 && errno == ESRCH) refuse(pid, "there is no such process");
  if (const uint64_t process = number_of_status(pid, "Tgid"); process != 0 && process != static_cast<uint64_t>(pid))
    refuse(pid, fmt::format("that is a thread of process {}: attach to the process", process));
  const std::string state = field_of_status(pid, "State");
  if (state.starts_with("Z")) refuse(pid, "it has ended, or its first thread has (a zombie)");
  if (is_in_another_pid_namespace(pid)) refuse(pid, "it is in another PID namespace (a container?); run simrun in there");
  const FileDescriptor file(open(fmt::format("/proc/{}/exe", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) refuse(pid, fmt::format("its program cannot be read: {}", std::strerror(errno)));
  ElfFile elf;
  if (!read_elf(file.get(), elf) || elf.kind != ElfKind::kX8664) refuse(pid, "it is not a 64-bit x86 program");
  if (has_engine(pid)) refuse(pid, "it runs under simrun already, or did until a simrun that was killed");
  if (const uint64_t tracer = number_of_status(pid, "TracerPid")) refuse(pid, fmt::format("process {} traces it (a debugger?)", tracer));
  if (number_of_status(pid, "Seccomp") != 0) refuse(pid, "seccomp restricts its system calls, and with them the engine's; start it with simrun instead");
  if (field_of_status(pid, "x86_Thread_features").find("shstk") != std::string::npos)
    refuse(pid, "it uses shadow stacks, which translated code does not; start it with simrun instead");
  if (state.starts_with("T")) refuse(pid, "it is stopped; send it SIGCONT first");
}

namespace {

// prctl(PR_SET_SYSCALL_USER_DISPATCH): the engine's calls would be dispatched, too. Linux 6.4 and later say so.
bool dispatches_its_calls(pid_t tid) {
  constexpr auto kGetUserDispatch = static_cast<__ptrace_request>(0x4211);  // PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
  struct {
    uint64_t mode, selector, offset, length;
  } configuration{};
  return ptrace(kGetUserDispatch, tid, sizeof configuration, &configuration) == 0 && configuration.mode != 0;
}

void read_stopped(pid_t tid, user_regs_struct& registers, AttachedThread& t) {
  user_regs_struct& r = registers;
  iovec vectors{t.vectors, sizeof t.vectors};
  if (ptrace(PTRACE_GETREGS, tid, nullptr, &r) != 0 || ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &vectors) != 0 ||
      ptrace(PTRACE_GETSIGMASK, tid, sizeof t.signal_mask, &t.signal_mask) != 0)
    throw UserError(fmt::format("cannot read the registers of thread {}: {}", tid, std::strerror(errno)));
  const uint64_t call = r.orig_rax, error = -r.rax;
  if (restart_call(r)) {
    t.interrupted = error;
    if (r.rax == SYS_restart_syscall) t.call_to_restart = call;
  }
  t.tid = static_cast<uint64_t>(tid);
  const uint64_t gpr[16] = {r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
  std::memcpy(t.gpr, gpr, sizeof t.gpr);
  t.pc = r.rip;
  t.flags = r.eflags;
  t.fs_base = r.fs_base;
  t.gs_base = r.gs_base;
}

void read_memory(pid_t pid, uint64_t address, void* to, size_t count) {
  const iovec local{to, count}, remote{reinterpret_cast<void*>(address), count};
  if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(count))
    throw UserError(fmt::format("cannot read the memory of process {}: {}", pid, std::strerror(errno)));
}

// What only the thread itself can ask the kernel. Its area for restartable sequences is signed off: they cannot be kept in a code cache.
void ask_in_thread(RemoteProcess& thread, uint64_t scratch, AttachedThread& t) {
  thread.must_call("read the alternate signal stack", SYS_sigaltstack, {0, scratch});
  read_memory(thread.pid(), scratch, t.alternate_stack, sizeof t.alternate_stack);
  t.alternate_stack[1] &= 0xffffffff;
  RseqConfiguration rseq{};
  if (ptrace(kGetRseqConfiguration, thread.pid(), sizeof rseq, &rseq) > 0 && rseq.address != 0)
    thread.call(SYS_rseq, {rseq.address, rseq.bytes, 1 /* RSEQ_FLAG_UNREGISTER */, rseq.signature});
}

// The engine's private C library will tell the kernel other things for this thread.
void record_library_state(RemoteProcess& thread, uint64_t scratch, border::ProcessHeader& h) {
  size_t bytes = 0;
  void* list = nullptr;
  if (syscall(SYS_get_robust_list, thread.pid(), &list, &bytes) == 0) h.app_robust_list = reinterpret_cast<uint64_t>(list);
  thread.must_call("read the address of the thread id", SYS_prctl, {PR_GET_TID_ADDRESS, scratch});
  read_memory(thread.pid(), scratch, &h.app_tid_address, sizeof h.app_tid_address);
}

// In memory of rings that no thread has yet, above the list of mappings.
AttachedThread* make_table(const LocalMapping& mapping, size_t threads) {
  border::ProcessHeader& h = mapping.header();
  const uint64_t room = h.instructions_offset - h.rings_offset;
  h.attached_offset = (h.rings_offset + room / 4 * 3 + 63) & ~63ull;
  h.attached_threads = static_cast<uint32_t>(threads);
  if (threads > border::kMaxThreads || threads * sizeof(AttachedThread) > room / 4 - 64)
    throw UserError(fmt::format("the process has {} threads, too many for rings so small: use a larger --ring-size", threads));
  return reinterpret_cast<AttachedThread*>(static_cast<char*>(mapping.address()) + h.attached_offset);
}

void wait_for_engine(pid_t pid, const border::ProcessHeader& h) {
  for (int waited = 0; waited < kStartPatienceMilliseconds; ++waited) {
    const uint32_t state = h.engine_state.load(std::memory_order_acquire);
    if (state == 3) throw UserError(fmt::format("the engine gave up in process {}, which has ended: {}", pid, h.failure));
    if (state != 0) return;
    if (kill(pid, 0) != 0) throw UserError(fmt::format("process {} ended while the engine started", pid));
    usleep(1000);
  }
  throw UserError(fmt::format("the engine does not start in process {}", pid));
}

// A thread that waited for the engine goes on in it. False: it has been killed.
bool let_go(pid_t tid, uint64_t pc, uint64_t context) {
  user_regs_struct r{};
  const uint64_t all = ~uint64_t{0};
  bool good = ptrace(PTRACE_GETREGS, tid, nullptr, &r) == 0;
  r.orig_rax = ~0ull;
  r.eflags = 0x202;
  r.rip = pc;
  r.r12 = context;
  good = good && ptrace(PTRACE_SETREGS, tid, nullptr, &r) == 0 && ptrace(PTRACE_SETSIGMASK, tid, sizeof all, &all) == 0;
  if (good && ptrace(PTRACE_DETACH, tid, nullptr, nullptr) == 0) return true;
  if (errno != ESRCH) throw UserError(fmt::format("cannot send thread {} on its way: {}", tid, std::strerror(errno)));
  return false;
}

}  // namespace

TakenOver attach(pid_t pid, const LaunchOptions& options) {
  mapping_bytes(options);   // refuses senseless options
  const std::string engine = find_engine(options.engine_path);
  check_process(pid);
  StoppedThreads threads(pid);
  const LimitsBefore limits = make_room_in(pid, options);
  std::vector<border::MappedFile> files = mapped_files(pid);
  std::vector<AttachedThread> states(threads.all().size());
  std::vector<user_regs_struct> registers(states.size());
  if (std::any_of(threads.all().begin(), threads.all().end(), dispatches_its_calls))
    refuse(pid, "it has its system calls dispatched to itself (as Wine does), and the engine's would be, too; start it with simrun instead");
  for (size_t k = 0; k < states.size(); ++k) read_stopped(threads.all()[k], registers[k], states[k]);
  RemoteProcess first(threads.all()[0], registers[0]);
  try {
    Injected injected = inject(first, options, engine, limits, nullptr, 0);
    border::ProcessHeader& h = injected.mapping.header();
    AttachedThread* table = make_table(injected.mapping, states.size());
    const uint64_t scratch = h.engine_stack_base;
    record_library_state(first, scratch, h);
    ask_in_thread(first, scratch, states[0]);
    for (size_t k = 1; k < states.size(); ++k) {
      RemoteProcess thread(threads.all()[k], registers[k]);
      try {
        ask_in_thread(thread, scratch, states[k]);
      } catch (...) {
        thread.give_back();
        throw;
      }
      thread.give_back();
    }
    std::memcpy(static_cast<void*>(table), states.data(), states.size() * sizeof states[0]);
    threads.release(threads.all()[0]);
    start_engine(first, injected, true);
    wait_for_engine(pid, h);
    for (size_t k = 1; k < states.size(); ++k)
      if (let_go(threads.all()[k], h.thread_start, table[k].context)) threads.release(threads.all()[k]);
    return {std::move(injected.mapping), std::move(files)};
  } catch (...) {
    first.give_back();
    throw;
  }
}

}  // namespace simrun::host
