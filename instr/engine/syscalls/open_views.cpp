#include "instr/engine/syscalls/open_views.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/raw_syscall.h"

namespace simrun::engine {
namespace {

EngineLock g_lock{LockRank::kViews};  // guards the views; not held in a helper's time
const ForkLock g_fork_lock{g_lock};
std::map<int64_t, std::shared_ptr<OpenView>> g_views;  // by descriptor; copies have the same. Some may have been closed meanwhile (close_range)
std::atomic<uint32_t> g_view_count;

void count_views() { g_view_count = static_cast<uint32_t>(g_views.size()); }

// As the kernel takes a descriptor: the lower 32 bits.
int64_t descriptor(uint64_t argument) { return static_cast<int32_t>(argument); }

struct stat status_of(int64_t fd) {
  struct stat s {};
  raw_syscall(SYS_fstat, static_cast<uint64_t>(fd), word(&s));
  return s;
}

bool find_view(uint64_t device, uint64_t inode, OpenView& found) {
  const std::lock_guard lock(g_lock);
  for (const auto& [fd, view] : g_views) {
    if (view->inode != inode || view->device != device) continue;
    found = *view;
    return true;
  }
  return false;
}

bool find_view(int64_t fd, OpenView& found) {
  const std::lock_guard lock(g_lock);
  const auto entry = g_views.find(fd);
  if (entry == g_views.end()) return false;
  const struct stat s = status_of(fd);
  if (s.st_ino == entry->second->inode && s.st_dev == entry->second->device) {
    found = *entry->second;
    return true;
  }
  g_views.erase(entry);
  count_views();
  return false;
}

void note_copy(int64_t fd, int64_t copy) {
  const std::lock_guard lock(g_lock);
  const auto entry = g_views.find(fd);
  if (entry == g_views.end()) return;
  g_views[copy] = entry->second;
  count_views();
}

void note_close(int64_t fd) {
  const std::lock_guard lock(g_lock);
  g_views.erase(fd);
  count_views();
}

void correct_status(uint64_t at) {
  struct stat status;
  OpenView view;
  if (read_app(&status, at, sizeof status) && find_view(status.st_dev, status.st_ino, view)) write_app(at, &view.original.status, sizeof status);
}

void correct_extended_status(uint64_t at, uint64_t asked) {
  struct statx status;
  OpenView view;
  if (!read_app(&status, at, sizeof status) || !find_view(makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino, view)) return;
  status = view.original.extended;
  status.stx_mask &= static_cast<uint32_t>(asked) | STATX_BASIC_STATS;
  if ((status.stx_mask & STATX_MNT_ID) == 0) status.stx_mnt_id = 0;
  write_app(at, &status, sizeof status);
}

void correct_file_system(uint64_t fd, uint64_t at) {
  OpenView view;
  if (find_view(descriptor(fd), view)) write_app(at, &view.original.file_system, sizeof view.original.file_system);
}

// `link` is .../fd/N.
void correct_link(ThreadContext* c, uint64_t folder, uint64_t link, uint64_t at, uint64_t bytes) {
  constexpr std::string_view kMemoryFile = "/memfd:";
  char start[kMemoryFile.size()];
  struct stat status;
  OpenView view;
  if (c->app.gpr[kRax] < kMemoryFile.size() || !read_app(start, at, sizeof start) || std::string_view(start, sizeof start) != kMemoryFile) return;
  if (raw_syscall(SYS_newfstatat, folder, link, word(&status), 0) != 0 || !find_view(status.st_dev, status.st_ino, view)) return;
  const size_t length = std::min(view.path.size(), static_cast<size_t>(descriptor(bytes)));
  if (write_app(at, view.path.data(), length)) c->app.gpr[kRax] = length;
}

}  // namespace

FileFacts facts_of(int64_t fd) {
  FileFacts facts{};
  const auto file = static_cast<uint64_t>(fd);
  constexpr uint64_t kAll = ~uint64_t{STATX__RESERVED} & 0xffffffff;
  facts.status = status_of(fd);
  raw_syscall(SYS_statx, file, word(""), AT_EMPTY_PATH, kAll, word(&facts.extended));
  raw_syscall(SYS_fstatfs, file, word(&facts.file_system));
  return facts;
}

bool has_views() { return g_view_count != 0; }

void remember_view(int64_t fd, std::string path, std::string text, const FileFacts& original) {
  const struct stat s = status_of(fd);
  const std::lock_guard lock(g_lock);
  g_views[fd] = std::make_shared<OpenView>(s.st_dev, s.st_ino, std::move(path), std::move(text), original);
  count_views();
}

bool find_unread_view(int64_t fd, OpenView& view) {
  return find_view(fd, view) && raw_syscall(SYS_lseek, static_cast<uint64_t>(fd), 0, SEEK_CUR) == 0;
}

void change_text(int64_t fd, std::string text) {
  const std::lock_guard lock(g_lock);
  if (const auto entry = g_views.find(fd); entry != g_views.end()) entry->second->text = std::move(text);
}

bool answer_view_call(uint64_t number, const uint64_t* a, int64_t& result) {
  if (!has_views()) return false;
  OpenView view;
  // fs/seq_file.c, seq_lseek: there is no end that could be known
  if (number == SYS_lseek && static_cast<uint32_t>(a[2]) > SEEK_CUR && find_view(descriptor(a[0]), view)) {
    result = -EINVAL;
    return true;
  }
  return false;
}

void after_view_call(ThreadContext* c, uint64_t number, const uint64_t* a) {
  if (!has_views() || static_cast<int64_t>(c->app.gpr[kRax]) < 0) return;
  switch (number) {
    case SYS_stat:
    case SYS_fstat: return correct_status(a[1]);
    case SYS_newfstatat: return correct_status(a[2]);
    case SYS_statx: return correct_extended_status(a[4], a[3]);
    case SYS_fstatfs: return correct_file_system(a[0], a[1]);
    case SYS_readlink: return correct_link(c, static_cast<uint64_t>(AT_FDCWD), a[0], a[1], a[2]);
    case SYS_readlinkat: return correct_link(c, a[0], a[1], a[2], a[3]);
    case SYS_close: return note_close(descriptor(a[0]));
    case SYS_dup:
    case SYS_dup2:
    case SYS_dup3: return note_copy(descriptor(a[0]), static_cast<int64_t>(c->app.gpr[kRax]));
    case SYS_fcntl:
      if (a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC) note_copy(descriptor(a[0]), static_cast<int64_t>(c->app.gpr[kRax]));
      return;
    default: return;
  }
}

}  // namespace simrun::engine
