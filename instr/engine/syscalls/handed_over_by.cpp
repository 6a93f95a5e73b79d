// What a call is made on, where threads wait for each other by it: kind in the top byte, then what tells one from another, in all processes alike.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstring>

#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/syscalls/call_events.h"
#include "instr/engine/syscalls/syscalls.h"

namespace simrun::engine {
namespace {

enum class Kind : uint64_t { kPipe = 1, kSocket, kUnnamed, kMessageFile, kLockedFile, kSemaphores, kMessages, kSignals };

uint64_t object(Kind kind, uint64_t which) { return static_cast<uint64_t>(kind) << 56 | (which & ((uint64_t{1} << 56) - 1)); }

uint64_t file_object(Kind kind, const struct stat& file) { return object(kind, file.st_ino ^ file.st_dev << 40); }

// FNV-1a (Fowler, Noll, Vo). Of the end of a connection; 0: it has none.
uint64_t hash_of_end(int64_t get_name, uint64_t descriptor) {
  unsigned char name[128] = {};
  uint32_t bytes = sizeof name;
  if (raw_syscall(get_name, descriptor, word(name), word(&bytes)) != 0 || bytes > sizeof name) return 0;
  uint64_t hash = 0xcbf29ce484222325;
  for (uint32_t k = 0; k < bytes; ++k) hash = (hash ^ name[k]) * 0x100000001b3;
  return hash;
}

// Both ends of a connection have the same. Those without names (socketpair), and without connections, are told apart no further.
uint64_t socket_object(uint64_t descriptor) {
  sockaddr name{};
  uint32_t bytes = sizeof name;
  const bool is_local = raw_syscall(SYS_getsockname, descriptor, word(&name), word(&bytes)) != 0 || name.sa_family == AF_UNIX;
  const uint64_t other = is_local ? 0 : hash_of_end(SYS_getpeername, descriptor);
  return object(Kind::kSocket, other == 0 ? 0 : hash_of_end(SYS_getsockname, descriptor) + other);
}

// Files and terminals: 0. An eventfd and the like has no name: its number, which is the same in a child that inherited it.
uint64_t descriptor_object(uint64_t descriptor) {
  struct stat file{};
  if (raw_syscall(SYS_fstat, descriptor, word(&file)) != 0) return 0;
  if (S_ISFIFO(file.st_mode)) return file_object(Kind::kPipe, file);
  if (S_ISSOCK(file.st_mode)) return socket_object(descriptor);
  return (file.st_mode & S_IFMT) == 0 ? object(Kind::kUnnamed, descriptor) : 0;
}

uint64_t file_object(Kind kind, uint64_t descriptor) {
  struct stat file{};
  return raw_syscall(SYS_fstat, descriptor, word(&file)) == 0 ? file_object(kind, file) : 0;
}

bool locks(uint64_t command) { return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW; }

}  // namespace

uint64_t handed_over_by(const ThreadContext* c, uint64_t number) {
  if (!g_process.has_reader() || is_only_one()) return 0;
  const uint64_t* g = c->app.gpr;
  switch (number) {
    case SYS_read: case SYS_readv: case SYS_write: case SYS_writev:
      return descriptor_object(g[kRdi]);
    case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg: case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg:
      return socket_object(g[kRdi]);
    case SYS_mq_timedreceive: case SYS_mq_timedsend:
      return file_object(Kind::kMessageFile, g[kRdi]);
    case SYS_flock:
      return file_object(Kind::kLockedFile, g[kRdi]);
    case SYS_fcntl:
      return locks(g[kRsi]) ? file_object(Kind::kLockedFile, g[kRdi]) : 0;
    case SYS_semop: case SYS_semtimedop:
      return object(Kind::kSemaphores, g[kRdi]);
    case SYS_msgsnd: case SYS_msgrcv:
      return object(Kind::kMessages, g[kRdi]);
    case SYS_rt_sigtimedwait: case SYS_rt_sigsuspend: case SYS_pause:
    case SYS_kill: case SYS_tkill: case SYS_tgkill: case SYS_rt_sigqueueinfo: case SYS_rt_tgsigqueueinfo: case SYS_pidfd_send_signal:
      return object(Kind::kSignals, 0);
    default:
      return 0;
  }
}

}  // namespace simrun::engine
