// What a call is made on, where threads wait for each other by it: its kind in the top byte, below it what tells one from another, in all processes alike.
// What cannot be told from others of its kind is nothing: threads that have nothing to do with each other would be taken for such that wait.
#include <netinet/in.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

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

uint64_t pair_object(uint64_t inode) {
  const Pair& pair = g_pairs[inode % g_pairs.size()];
  const uint64_t other = pair.second.load();
  return inode != 0 && pair.first.load() == inode ? object(Kind::kPair, std::min(inode, other)) : 0;
}

void name_event(uint64_t descriptor) {
  static std::atomic<uint64_t> made{0};
  const auto pid = static_cast<uint64_t>(raw_syscall(SYS_getpid));
  if (descriptor < g_events.size()) g_events[descriptor].store(pid << 32 | ++made);
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

// Both ends of a connection have the same.
uint64_t socket_object(uint64_t descriptor, uint64_t inode) {
  if (const uint64_t pair = pair_object(inode); pair != 0) return pair;
  const uint64_t other = hash_of_end(SYS_getpeername, descriptor);
  return other == 0 ? 0 : object(Kind::kConnection, hash_of_end(SYS_getsockname, descriptor) + other);
}

uint64_t file_object(Kind kind, const struct stat& file) { return object(kind, file.st_ino ^ file.st_dev << 40); }

uint64_t descriptor_object(uint64_t descriptor) {
  struct stat file{};
  if (raw_syscall(SYS_fstat, descriptor, word(&file)) != 0) return 0;
  if (S_ISFIFO(file.st_mode)) return file_object(Kind::kPipe, file);
  if (S_ISSOCK(file.st_mode)) return socket_object(descriptor, file.st_ino);
  const bool is_event = (file.st_mode & S_IFMT) == 0 && descriptor < g_events.size() && g_events[descriptor].load() != 0;
  return is_event ? object(Kind::kEvent, g_events[descriptor].load()) : 0;
}

uint64_t queue_object(uint64_t descriptor) {
  struct stat file{};
  return raw_syscall(SYS_fstat, descriptor, word(&file)) == 0 ? file_object(Kind::kQueue, file) : 0;
}

// Of one operation. (Several at once have no direction.)
HandOverCall semaphore_call(const uint64_t* g) {
  sembuf operation{};
  if (g[kRdx] != 1 || !read_app(&operation, g[kRsi], sizeof operation)) return {};
  return {object(Kind::kSemaphore, g[kRdi] << 16 | operation.sem_num), operation.sem_op > 0, 0};
}

// To the thread of that number, or to a process: its first thread.
HandOverCall signal_call(uint64_t tid, bool gives) { return {static_cast<int64_t>(tid) > 0 ? object(Kind::kSignal, tid) : 0, gives, 0}; }

}  // namespace

HandOverCall hand_over_call(const ThreadContext* c, uint64_t number) {
  if (!g_process.has_reader() || c->stage == 0 || is_only_one()) return {};
  const uint64_t* g = c->app.gpr;
  switch (number) {
    case SYS_read: case SYS_readv: return {descriptor_object(g[kRdi]), false, 0};
    case SYS_write: case SYS_writev: return {descriptor_object(g[kRdi]), true, 0};
    case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg: return {socket_object(g[kRdi], inode_of_socket(g[kRdi])), false, 0};
    case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg: return {socket_object(g[kRdi], inode_of_socket(g[kRdi])), true, 0};
    case SYS_mq_timedreceive: return {queue_object(g[kRdi]), false, 0};
    case SYS_mq_timedsend: return {queue_object(g[kRdi]), true, 0};
    case SYS_semop: case SYS_semtimedop: return semaphore_call(g);
    case SYS_msgrcv: return {object(Kind::kMessages, g[kRdi]), false, 0};
    case SYS_msgsnd: return {object(Kind::kMessages, g[kRdi]), true, 0};
    case SYS_rt_sigtimedwait: case SYS_rt_sigsuspend: case SYS_pause: return signal_call(static_cast<uint64_t>(raw_syscall(SYS_gettid)), false);
    case SYS_kill: case SYS_tkill: case SYS_rt_sigqueueinfo: return signal_call(g[kRdi], true);
    case SYS_tgkill: case SYS_rt_tgsigqueueinfo: return signal_call(g[kRsi], true);
    default: return {};
  }
}

void name_what_was_made(const ThreadContext* c, uint64_t number) {
  const uint64_t* g = c->app.gpr;
  if (static_cast<int64_t>(g[kRax]) < 0) return;
  if (number == SYS_socketpair) name_pair(g[kR10]);
  if (number == SYS_eventfd || number == SYS_eventfd2) name_event(g[kRax]);
}

}  // namespace simrun::engine
