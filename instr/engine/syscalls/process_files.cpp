#include "instr/engine/syscalls/process_files.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/prctl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "instr/engine/codecache/memory_file.h"
#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/signal_mask.h"
#include "instr/engine/dispatch/flush.h"
#include "instr/engine/dispatch/stable_code.h"
#include "instr/engine/syscalls/open_views.h"
#include "instr/engine/syscalls/process_views.h"

namespace simrun::engine {
namespace {

// A helper process makes the view and holds it in a memory file. It shares our memory but not our descriptors: so none
// of the application's numbers is taken for a moment, and it works when they are all in use. The application gets the
// file by opening /proc/HELPER/fd/N. Where no process may be made (RLIMIT_NPROC), or it would be the first of a new namespace, the thread
// makes the file itself, and for a moment another one can see its number.
struct Helper {
  bool is_process = true;
  char path[256];
  std::string text;             // of the kernel's file if the caller has read it; then the view's
  const OpenView* rewritten = nullptr;   // a view whose text is made anew: the helper reads the kernel's
  int64_t view = -1;            // its descriptor
  std::atomic<uint32_t> stage;  // futex
  int64_t owner;                // the process that waits
  int64_t descriptor = -1;      // of what it made; there only at kReady if it is a process, which may be killed before
  alignas(64) char stack[64 * 1024];
};
enum : uint32_t { kPreparing, kReady, kTaken };

void wait_while(std::atomic<uint32_t>& stage, uint32_t value) {
  // The time-out is for a process that was killed meanwhile.
  const timespec timeout{5, 0};
  while (stage.load() == value)
    if (raw_syscall(SYS_futex, word(&stage), FUTEX_WAIT, value, word(&timeout)) == -ETIMEDOUT) return;
}

void go_to(std::atomic<uint32_t>& stage, uint32_t value) {
  stage.store(value);
  raw_syscall(SYS_futex, word(&stage), FUTEX_WAKE, 1);
}

// A descriptor, also when the table is full: in a helper process it is a copy.
template <typename Open>
int64_t open_with_room(const Helper& helper, Open&& open) {
  const int64_t fd = open();
  if (fd != -EMFILE || !helper.is_process) return fd;
  raw_syscall(SYS_close_range, 0, 2, 0);
  return open();
}

int64_t open_file(const char* path, uint64_t flags) {
  return raw_syscall(SYS_openat, static_cast<uint64_t>(AT_FDCWD), word(path), flags);
}

bool read_all(int64_t fd, std::string& text) {
  constexpr size_t kStep = 64 * 1024;
  for (size_t size = 0;;) {
    text.resize(size + kStep);
    const int64_t n = raw_syscall(SYS_read, static_cast<uint64_t>(fd), word(text.data() + size), kStep);
    if (n < 0) return false;
    size += static_cast<size_t>(n);
    text.resize(size);
    if (n == 0) return true;
  }
}

bool write_all(int64_t fd, std::string_view text) {
  while (!text.empty()) {
    const int64_t n = raw_syscall(SYS_write, static_cast<uint64_t>(fd), word(text.data()), text.size());
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool write_text(const Helper& helper, int64_t fd) {
  const RaisedFileSizeLimit limit(helper.text.size());
  return write_all(fd, helper.text) && raw_syscall(SYS_ftruncate, static_cast<uint64_t>(fd), helper.text.size()) == 0;
}

const char* name_of(const Helper& helper) { return std::strrchr(helper.path, '/') + 1; }

// The memory file with the view of `helper->path`, or an error.
int64_t make_file(Helper& helper) {
  const char* const name = name_of(helper);
  rewrite_process_file(name, helper.text);
  const int64_t fd = open_with_room(helper, [&] { return raw_syscall(SYS_memfd_create, word(name), MFD_CLOEXEC); });
  if (fd < 0) return fd;
  if (!write_text(helper, fd)) return raw_syscall(SYS_close, static_cast<uint64_t>(fd)), -EIO;
  raw_syscall(SYS_fchmod, static_cast<uint64_t>(fd), 0666);   // for make_anew, whoever the user is then
  return fd;
}

// What the kernel says now in the same memory file, which may have copies and has a position. An error: it stays as it is.
int64_t make_anew(Helper& helper) {
  const int64_t source = open_with_room(helper, [&] { return open_file(helper.path, O_RDONLY | O_CLOEXEC); });
  if (source < 0) return source;
  const bool read = read_all(source, helper.text);
  raw_syscall(SYS_close, static_cast<uint64_t>(source));
  if (!read) return -EIO;
  const char* const name = name_of(helper);
  keep_state_of_reader(name, helper.rewritten->text, helper.text);
  rewrite_process_file(name, helper.text);
  if (helper.text == helper.rewritten->text) return 0;
  char file[64];
  std::snprintf(file, sizeof file, "/proc/thread-self/fd/%ld", helper.view);
  const int64_t fd = open_with_room(helper, [&] { return open_file(file, O_WRONLY | O_CLOEXEC); });
  if (fd < 0) return fd;
  const bool written = write_text(helper, fd);
  raw_syscall(SYS_close, static_cast<uint64_t>(fd));
  return written ? 0 : -EIO;
}

int64_t do_work(Helper& helper) { return helper.rewritten ? make_anew(helper) : make_file(helper); }

// The thread may look into /proc/HELPER only if it has whatever the helper could have (security/commoncap.c, cap_ptrace_access_check).
void keep_effective_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2];
  if (raw_syscall(SYS_capget, word(&header), word(data)) != 0) return;
  for (auto& d : data) {
    d.permitted = d.effective;
    d.inheritable = 0;
  }
  raw_syscall(SYS_capset, word(&header), word(data));
}

[[noreturn]] void run_helper(Helper* helper) {
  raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  const int64_t parent = raw_syscall(SYS_getppid);
  const bool is_orphan = parent != 0 && parent != helper->owner;   // already: no signal will come. 0: in a namespace of its own
  if (is_orphan) raw_syscall(SYS_exit_group, 0);
  keep_effective_capabilities();
  helper->descriptor = do_work(*helper);
  go_to(helper->stage, kReady);
  wait_while(helper->stage, kReady);
  raw_syscall(SYS_exit_group, 0);
  __builtin_unreachable();
}

// clone(CLONE_VM): the child runs the helper on its stack, with our thread-local storage, while we wait.
int64_t start_helper(Helper* helper) {
  helper->owner = raw_syscall(SYS_getpid);
  const uint64_t top = word(helper->stack + sizeof helper->stack) & ~63ull;
  register uint64_t no_tid asm("r10") = 0;
  int64_t result = SYS_clone;
  asm volatile(
      "syscall\n"
      "test %%rax, %%rax\n"
      "jnz 1f\n"
      "xor %%ebp, %%ebp\n"
      "mov %[helper], %%rdi\n"
      "call *%[run]\n"
      "1:"
      : "+a"(result)
      : "D"(static_cast<uint64_t>(CLONE_VM)), "S"(top), "d"(0ull),
        "r"(no_tid), [helper] "b"(helper), [run] "r"(&run_helper)
      : "rcx", "r11", "r8", "memory");
  return result;
}

// A process that has changed its user is not dumpable, and without privileges cannot look into /proc/HELPER then.
class Dumpable {
 public:
  Dumpable() : made_(raw_syscall(SYS_prctl, PR_GET_DUMPABLE) == 0 && raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 1) == 0) {}
  ~Dumpable() {
    if (made_) raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 0);
  }
  Dumpable(const Dumpable&) = delete;
  Dumpable& operator=(const Dumpable&) = delete;

 private:
  bool made_;
};

// As open() would judge it, by the effective user and capabilities: that user may have changed since the exec, and then /proc/HELPER is
// root's (fs/proc/base.c, task_dump_owner).
bool can_be_read(const char* path) {
  const auto here = static_cast<uint64_t>(AT_FDCWD);
  const int64_t result = raw_syscall(SYS_faccessat2, here, word(path), R_OK, AT_EACCESS);
  return (result == -ENOSYS ? raw_syscall(SYS_faccessat, here, word(path), R_OK) : result) == 0;
}

// As after unshare or setns: then the first child is the init of that namespace, and its end that of all of it.
bool children_have_another_namespace() {
  struct stat own{}, children{};
  const auto here = static_cast<uint64_t>(AT_FDCWD);
  if (raw_syscall(SYS_newfstatat, here, word("/proc/thread-self/ns/pid"), word(&own), 0) != 0) return false;
  return raw_syscall(SYS_newfstatat, here, word("/proc/thread-self/ns/pid_for_children"), word(&children), 0) != 0 || own.st_ino != children.st_ino;
}

// Has the work done, and lets `take` have the result while the helper still has its descriptors.
template <typename Take>
void with_help(Helper& helper, std::string_view path, Take&& take) {
  path.copy(helper.path, sizeof helper.path - 1);
  const uint64_t mask = set_signal_mask(~0ull);  // signals to the process group would find our handlers in the helper
  const Dumpable dumpable;
  const int64_t pid = children_have_another_namespace() ? 0 : start_helper(&helper);
  helper.is_process = pid > 0;
  if (helper.is_process)
    wait_while(helper.stage, kPreparing);
  else
    helper.descriptor = do_work(helper);
  const bool is_done = !helper.is_process || helper.stage.load() == kReady;
  if (is_done && helper.descriptor >= 0) take(pid);
  if (helper.is_process) {
    go_to(helper.stage, kTaken);
    while (raw_syscall(SYS_wait4, static_cast<uint64_t>(pid), 0, __WCLONE, 0) == -EINTR) continue;
  }
  set_signal_mask(mask);
}

// The number of the view of `path`, in place of `fd`; or `fd` if there is none.
int64_t replace_by_view(int64_t fd, const std::string& path, std::string text, uint64_t flags) {
  const FileFacts facts = facts_of(fd);
  const auto helper = std::make_unique<Helper>();
  helper->text = std::move(text);
  int64_t view = fd;
  with_help(*helper, path, [&](int64_t pid) {
    char file[64];
    if (helper->is_process)
      std::snprintf(file, sizeof file, "/proc/%ld/fd/%ld", pid, helper->descriptor);
    else
      std::snprintf(file, sizeof file, "/proc/thread-self/fd/%ld", helper->descriptor);
    if (can_be_read(file)) {
      raw_syscall(SYS_close, static_cast<uint64_t>(fd));
      view = open_file(file, flags & (O_CLOEXEC | O_NONBLOCK));
      if (view >= 0) remember_view(view, path, std::move(helper->text), facts);
    }
    if (!helper->is_process) raw_syscall(SYS_close, static_cast<uint64_t>(helper->descriptor));
  });
  return view;
}

// NAME if the path is "/.../PID/NAME" or "/.../PID/task/TID/NAME" and PID is this process; else nothing.
std::string_view name_of_own_file(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return {};
  std::string_view folder = path.substr(0, slash);
  const size_t task = folder.rfind("/task/");
  if (task != folder.npos) folder = folder.substr(0, task);
  const std::string pid(folder.substr(folder.rfind('/') + 1));
  const int64_t process = raw_syscall(SYS_getpid), named = std::strtol(pid.c_str(), nullptr, 10);
  const bool own = named == process ||
                   (named > 0 && raw_syscall(SYS_tgkill, static_cast<uint64_t>(process), static_cast<uint64_t>(named), 0) == 0);  // a thread
  return own ? path.substr(slash + 1) : std::string_view{};
}

// The path of `fd` if it is a file of /proc; else empty.
std::string path_in_proc(int64_t fd) {
  struct statfs fs;
  if (raw_syscall(SYS_fstatfs, static_cast<uint64_t>(fd), word(&fs)) != 0 || fs.f_type != PROC_SUPER_MAGIC) return {};
  char link[64], path[256];
  std::snprintf(link, sizeof link, "/proc/thread-self/fd/%ld", fd);
  const int64_t length = raw_syscall(SYS_readlink, word(link), word(path), sizeof path);
  return length <= 0 ? std::string() : std::string(path, static_cast<size_t>(length));
}

bool is_own_memory(int64_t fd) { return name_of_own_file(path_in_proc(fd)) == "mem"; }

// Whether the application has ever opened its memory as a file, for writing.
std::atomic<bool> g_memory_file;

// Flags of an opening call; false: another call.
bool open_flags(uint64_t number, const uint64_t* a, uint64_t& flags) {
  switch (number) {
    case SYS_open:
      flags = a[1];
      return true;
    case SYS_openat:
      flags = a[2];
      return true;
    case SYS_openat2:
      return read_app(&flags, a[2], sizeof flags);
    default:
      return false;
  }
}

}  // namespace

void after_open_call(ThreadContext* c, uint64_t number, const uint64_t* a) {
  uint64_t flags;
  const auto fd = static_cast<int64_t>(c->app.gpr[kRax]);
  if (fd < 0 || !open_flags(number, a, flags)) return;
  if ((flags & (O_PATH | O_DIRECTORY)) != 0) return;
  const std::string path = path_in_proc(fd);
  const std::string_view name = name_of_own_file(path);
  const uint64_t access = flags & O_ACCMODE;
  if (access != O_RDONLY && name == "mem") g_memory_file = true;
  if (access != O_RDONLY && access != O_RDWR) return;
  if (!is_rewritten(name)) return;
  give_all_back(c);   // it tells of permissions
  // Read by the thread itself, while it runs and has its own signal mask.
  std::string original;
  if (!read_all(fd, original) || raw_syscall(SYS_lseek, static_cast<uint64_t>(fd), 0, SEEK_SET) != 0) return;
  c->app.gpr[kRax] = static_cast<uint64_t>(replace_by_view(fd, path, std::move(original), flags));
}

constexpr uint64_t kAtPosition = ~uint64_t{0};   // as an offset

void after_write_call(ThreadContext* c, uint64_t number, const uint64_t* a) {
  const auto written = static_cast<int64_t>(c->app.gpr[kRax]);
  if (!g_memory_file || written <= 0) return;
  const auto fd = static_cast<int64_t>(static_cast<int32_t>(a[0]));
  uint64_t end;
  switch (number) {
    case SYS_write:
    case SYS_writev:
      if (!is_own_memory(fd)) return;
      end = static_cast<uint64_t>(raw_syscall(SYS_lseek, a[0], 0, SEEK_CUR));
      break;
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
      if (!is_own_memory(fd)) return;
      if (number == SYS_pwritev2 && a[3] == kAtPosition) return after_write_call(c, SYS_writev, a);
      end = a[3] + static_cast<uint64_t>(written);
      break;
    default:
      return;
  }
  flush_if_translated(c, AppAddress{end - static_cast<uint64_t>(written)}, AppAddress{end});
}

void before_read_call(ThreadContext* c, uint64_t number) {
  constexpr uint32_t kMostAttempts = 3;
  if (!has_views()) return;
  const uint64_t* g = c->app.gpr;
  const bool at_position = number == SYS_read || number == SYS_readv || (number == SYS_preadv2 && g[kR10] == kAtPosition);
  const bool at_start = (number == SYS_pread64 || number == SYS_preadv || number == SYS_preadv2) && g[kR10] == 0;
  const auto fd = static_cast<int64_t>(static_cast<int32_t>(g[kRdi]));
  OpenView view;
  if ((!at_position && !at_start) || !find_unread_view(fd, view)) return;
  // Signals that come faster than views are made would keep the call from ever being made.
  if (c->view_descriptor != fd) c->view_attempts = 0;
  if (c->view_attempts == kMostAttempts) return;
  c->view_descriptor = fd;
  ++c->view_attempts;
  give_all_back(c);
  const auto helper = std::make_unique<Helper>();
  helper->rewritten = &view;
  helper->view = fd;
  with_help(*helper, view.path, [&](int64_t) { change_text(fd, std::move(helper->text)); });
}

void after_read_call(ThreadContext* c, const uint64_t* a) {
  if (c->view_attempts != 0 && c->view_descriptor == static_cast<int64_t>(static_cast<int32_t>(a[0]))) c->view_attempts = 0;
}

}  // namespace simrun::engine
