// What a call is made on, where threads wait for each other by it: its kind in the top byte, below it what tells one from another, in all processes alike.
// What cannot be told from others of its kind is nothing: threads that have nothing to do with each other would be taken for such that wait.
#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <tuple>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/syscalls/call_events.h"
#include "instr/engine/syscalls/syscalls.h"

namespace simrun::engine {
namespace {

enum class Kind : uint64_t { kPipe = 1, kConnection, kPair, kEvent, kQueue, kSemaphore, kMessages, kSignal };

constexpr uint64_t object(Kind kind, uint64_t which) { return static_cast<uint64_t>(kind) << 56 | (which & ((uint64_t{1} << 56) - 1)); }

// --- What has no name --------------------------------------------------------------------------------------------------

// Pairs of sockets by their inodes, and eventfds by their descriptors; a child of fork has those of its parent. A later one takes the place of an
// earlier one that it meets there, which is nothing then.
struct Pair {
  std::atomic<uint64_t> first, second;
};
std::array<Pair, 4096> g_pairs;
std::array<std::atomic<uint64_t>, 4096> g_events;   // by descriptor: a name; 0: none

uint64_t inode_of_socket(uint64_t descriptor) {
  struct stat file{};
  return raw_syscall(SYS_fstat, descriptor, word(&file)) == 0 && S_ISSOCK(file.st_mode) ? file.st_ino : 0;
}

void name_pair(uint64_t descriptors) {
  int ends[2];
  if (!read_app(ends, descriptors, sizeof ends)) return;
  const uint64_t a = inode_of_socket(static_cast<uint64_t>(ends[0])), b = inode_of_socket(static_cast<uint64_t>(ends[1]));
  for (const auto& [own, other] : {std::pair(a, b), std::pair(b, a)}) {
    Pair& pair = g_pairs[own % g_pairs.size()];
    pair.first.store(0), pair.second.store(other), pair.first.store(own);
  }
}

// Each end is called by what is received there.
uint64_t pair_object(uint64_t inode, bool gives) {
  const Pair& pair = g_pairs[inode % g_pairs.size()];
  const uint64_t other = pair.second.load();
  return inode != 0 && pair.first.load() == inode ? object(Kind::kPair, gives ? other : inode) : 0;
}

void name_event(uint64_t descriptor) {
  static std::atomic<uint64_t> made{0};
  const auto pid = static_cast<uint64_t>(raw_syscall(SYS_getpid));
  if (descriptor < g_events.size()) g_events[descriptor].store(pid << 32 | ++made);
}

uint64_t event_name(uint64_t number) {
  const uint64_t descriptor = static_cast<uint32_t>(number);
  return descriptor < g_events.size() ? g_events[descriptor].load() : 0;
}

void copy_event_name(uint64_t from, uint64_t to) {
  if (to < g_events.size()) g_events[to].store(event_name(from));
}

void forget_event_names(uint64_t first, uint64_t last) {
  for (uint64_t descriptor = first; descriptor <= last && descriptor < g_events.size(); ++descriptor) g_events[descriptor].store(0);
}

// --- What the kernel tells from others ---------------------------------------------------------------------------------

// FNV-1a (Fowler, Noll, Vo).
uint64_t hash_of(const void* bytes, size_t count, uint64_t hash = 0xcbf29ce484222325) {
  for (size_t k = 0; k < count; ++k) hash = (hash ^ static_cast<const unsigned char*>(bytes)[k]) * 0x100000001b3;
  return hash;
}

// Of an end of a connection by IP, alike whether it is called by IPv4 or, mapped, by IPv6; 0: it is none.
uint64_t hash_of_end(int64_t get_name, uint64_t descriptor) {
  alignas(sockaddr_in6) char name[128] = {};
  uint32_t bytes = sizeof name;
  if (raw_syscall(get_name, descriptor, word(name), word(&bytes)) != 0) return 0;
  in6_addr address{};
  sockaddr_in6 six{};
  sockaddr_in four{};
  std::memcpy(&six, name, sizeof six), std::memcpy(&four, name, sizeof four);
  if (four.sin_family == AF_INET) {
    address.s6_addr[10] = address.s6_addr[11] = 0xff;
    std::memcpy(&address.s6_addr[12], &four.sin_addr, sizeof four.sin_addr);
  } else if (six.sin6_family == AF_INET6) {
    address = six.sin6_addr;
  } else {
    return 0;
  }
  return hash_of(&four.sin_port, sizeof four.sin_port, hash_of(&address, sizeof address));   // sin6_port is there, too
}

// What goes one way: what one end gives is what the other takes.
uint64_t socket_object(uint64_t descriptor, uint64_t inode, bool gives) {
  if (const uint64_t pair = pair_object(inode, gives); pair != 0) return pair;
  const uint64_t other = hash_of_end(SYS_getpeername, descriptor);
  if (other == 0) return 0;
  const uint64_t own = hash_of_end(SYS_getsockname, descriptor);
  return object(Kind::kConnection, gives ? own + 3 * other : other + 3 * own);
}

uint64_t file_object(Kind kind, const struct stat& file) { return object(kind, file.st_ino ^ file.st_dev << 40); }

uint64_t descriptor_object(uint64_t descriptor, bool gives) {
  struct stat file{};
  if (raw_syscall(SYS_fstat, descriptor, word(&file)) != 0) return 0;
  if (S_ISFIFO(file.st_mode)) return file_object(Kind::kPipe, file);
  if (S_ISSOCK(file.st_mode)) return socket_object(descriptor, file.st_ino, gives);
  const uint64_t event = (file.st_mode & S_IFMT) == 0 ? event_name(descriptor) : 0;
  return event != 0 ? object(Kind::kEvent, event) : 0;
}

uint64_t queue_object(uint64_t descriptor) {
  struct stat file{};
  return raw_syscall(SYS_fstat, descriptor, word(&file)) == 0 ? file_object(Kind::kQueue, file) : 0;
}

HandOverCall gives(uint64_t object) { return {{object}, {}, 0, 0}; }
HandOverCall takes(uint64_t object) { return {{}, {object}, 0, 0}; }

uint64_t semaphore_object(uint64_t set, uint64_t number) { return object(Kind::kSemaphore, uint64_t{static_cast<uint32_t>(set)} << 16 | (number & 0xffff)); }

HandOverCall semaphore_call(const uint64_t* g) {
  HandOverCall call;
  std::array<sembuf, std::tuple_size_v<HandOverCall::Objects>> operations{};
  const uint64_t count = g[kRdx];
  if (count == 0 || count > operations.size() || !read_app(operations.data(), g[kRsi], count * sizeof(sembuf))) return {};
  size_t given = 0, taken = 0;
  for (uint64_t k = 0; k < count; ++k)
    if (operations[k].sem_op != 0)   // 0: until others have taken all
      (operations[k].sem_op > 0 ? call.gives[given++] : call.takes[taken++]) = semaphore_object(g[kRdi], operations[k].sem_num);
  return call;
}

uint64_t message_object(uint64_t queue, uint64_t message) {
  int64_t type = 0;
  if (!read_app(&type, message, sizeof type)) return 0;
  return object(Kind::kMessages, uint64_t{static_cast<uint32_t>(queue)} << 24 | static_cast<uint64_t>(type) % 0xffffff);
}

// To a thread, or to whichever of a process takes it.
uint64_t signal_object(uint64_t to, uint64_t is_process) {
  return static_cast<int32_t>(to) > 0 ? object(Kind::kSignal, is_process << 32 | static_cast<uint32_t>(to)) | border::HandOver::kNoToken : 0;
}
uint64_t thread_object(uint64_t tid) { return signal_object(tid, 0); }
uint64_t process_object(uint64_t pid) { return signal_object(pid, 1); }

HandOverCall signal_taken() {
  return {{}, {thread_object(static_cast<uint64_t>(raw_syscall(SYS_gettid))), process_object(static_cast<uint64_t>(raw_syscall(SYS_getpid)))}, 0, 0};
}

}  // namespace

HandOverCall hand_over_call(const ThreadContext* c, uint64_t number) {
  if (!g_process.has_reader() || c->stage == 0 || is_only_one()) return {};
  const uint64_t* g = c->app.gpr;
  constexpr uint64_t kAtPosition = ~0ull;
  switch (number) {
    case SYS_preadv2:
      if (g[kR10] != kAtPosition) return {};
      [[fallthrough]];
    case SYS_read: case SYS_readv: return takes(descriptor_object(g[kRdi], false));
    case SYS_pwritev2:
      if (g[kR10] != kAtPosition) return {};
      [[fallthrough]];
    case SYS_write: case SYS_writev: case SYS_sendfile: return gives(descriptor_object(g[kRdi], true));
    case SYS_splice: return {{descriptor_object(g[kRdx], true)}, {descriptor_object(g[kRdi], false)}, 0, 0};
    case SYS_tee: return {{descriptor_object(g[kRsi], true)}, {descriptor_object(g[kRdi], false)}, 0, 0};
    case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg: return takes(socket_object(g[kRdi], inode_of_socket(g[kRdi]), false));
    case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg: return gives(socket_object(g[kRdi], inode_of_socket(g[kRdi]), true));
    case SYS_mq_timedreceive: return takes(queue_object(g[kRdi]));
    case SYS_mq_timedsend: return gives(queue_object(g[kRdi]));
    case SYS_semop: case SYS_semtimedop: return semaphore_call(g);
    case SYS_semctl: return g[kRdx] == SETVAL ? gives(semaphore_object(g[kRdi], g[kRsi])) : HandOverCall{};
    case SYS_msgrcv: return takes(object(Kind::kMessages, g[kRdi]));   // see message_taken
    case SYS_msgsnd: return gives(message_object(g[kRdi], g[kRsi]));
    case SYS_rt_sigtimedwait: case SYS_rt_sigsuspend: case SYS_pause: return signal_taken();
    case SYS_kill: case SYS_rt_sigqueueinfo: return gives(process_object(g[kRdi]));
    case SYS_tkill: return gives(thread_object(g[kRdi]));
    case SYS_tgkill: case SYS_rt_tgsigqueueinfo: return gives(thread_object(g[kRsi]));
    default: return {};
  }
}

void name_what_was_made(const ThreadContext* c, uint64_t number) {
  const uint64_t* g = c->app.gpr;
  if (static_cast<int64_t>(g[kRax]) < 0) return;
  switch (number) {
    case SYS_socketpair: return name_pair(g[kR10]);
    case SYS_eventfd: case SYS_eventfd2: return name_event(g[kRax]);
    case SYS_dup: return copy_event_name(g[kRdi], g[kRax]);
    case SYS_dup2: case SYS_dup3: return copy_event_name(g[kRdi], g[kRsi]);
    case SYS_fcntl:
      if (g[kRsi] == F_DUPFD || g[kRsi] == F_DUPFD_CLOEXEC) copy_event_name(g[kRdi], g[kRax]);
      return;
    default: return;
  }
}

void forget_what_is_closed(const ThreadContext* c, uint64_t number) {
  const uint64_t* g = c->app.gpr;
  const auto first = static_cast<uint32_t>(g[kRdi]), last = static_cast<uint32_t>(g[kRsi]);
  if (number == SYS_close) forget_event_names(first, first);
  if (number == SYS_close_range && (g[kRdx] & CLOSE_RANGE_CLOEXEC) == 0) forget_event_names(first, last);
}

uint64_t message_taken(const ThreadContext* c) { return message_object(c->app.gpr[kRdi], c->app.gpr[kRsi]); }

}  // namespace simrun::engine
