// What a call is made on, where threads wait for each other by it: its kind in the top byte, below it what tells one from another, in all processes alike.
// What cannot be told from others of its kind is nothing: threads that have nothing to do with each other would be taken for such that wait.
#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/syscalls/call_events.h"
#include "instr/engine/syscalls/syscalls.h"

namespace simrun::engine {
namespace {

enum class Kind : uint64_t { kPipe = 1, kConnection, kPair, kPackets, kEvent, kQueue, kSemaphore, kMessages, kSignal };

constexpr uint64_t object(Kind kind, uint64_t which) { return static_cast<uint64_t>(kind) << 56 | (which & ((uint64_t{1} << 56) - 1)); }
constexpr Kind kind_of(uint64_t object) { return static_cast<Kind>(object >> 56); }

constexpr uint64_t kUncounted = border::HandOver::kUncounted;

// --- What has no name --------------------------------------------------------------------------------------------------

// Pairs of sockets by their inodes, and eventfds by their descriptors; a child of fork has those of its parent. A later one takes the place of an
// earlier one that it meets there, which is nothing then.
struct Pair {
  std::atomic<uint64_t> first, second;
  std::atomic<bool> has_packets;
};
std::array<Pair, 4096> g_pairs;
std::array<std::atomic<uint64_t>, 4096> g_events;   // by descriptor: a name; 0: none

uint64_t inode_of_socket(uint64_t descriptor) {
  struct stat file{};
  return raw_syscall(SYS_fstat, descriptor, word(&file)) == 0 && S_ISSOCK(file.st_mode) ? file.st_ino : 0;
}

void name_pair(uint64_t type, uint64_t descriptors) {
  int ends[2];
  if (!read_app(ends, descriptors, sizeof ends)) return;
  const uint64_t a = inode_of_socket(static_cast<uint64_t>(ends[0])), b = inode_of_socket(static_cast<uint64_t>(ends[1]));
  for (const auto& [own, other] : {std::pair(a, b), std::pair(b, a)}) {
    Pair& pair = g_pairs[own % g_pairs.size()];
    pair.first.store(0), pair.second.store(other), pair.has_packets.store((type & 0xf) != SOCK_STREAM), pair.first.store(own);
  }
}

// Each end is called by what is received there.
uint64_t pair_object(uint64_t inode, bool gives) {
  const Pair& pair = g_pairs[inode % g_pairs.size()];
  const uint64_t other = pair.second.load();
  const Kind kind = pair.has_packets.load() ? Kind::kPackets : Kind::kPair;
  return inode != 0 && pair.first.load() == inode ? object(kind, gives ? other : inode) : 0;
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
  int type = 0;
  uint32_t bytes = sizeof type;
  raw_syscall(SYS_getsockopt, descriptor, SOL_SOCKET, SO_TYPE, word(&type), word(&bytes));
  return object(type == SOCK_STREAM ? Kind::kConnection : Kind::kPackets, gives ? own + 3 * other : other + 3 * own);
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

// Of a datagram a part may get lost.
uint64_t counted_bytes(uint64_t object, uint64_t bytes) { return kind_of(object) == Kind::kPackets ? kUncounted : bytes; }

HandOverCall gives(uint64_t object, uint64_t units) { return {.gives = {{{object, units}}}}; }
HandOverCall takes(uint64_t object, uint64_t units) { return {.takes = {{{object, units}}}}; }

HandOverCall gives_bytes(uint64_t object, uint64_t bytes) {
  constexpr uint64_t kMostBytes = 0x7ffff000;   // of one call: write(2), Notes
  HandOverCall call = gives(object, counted_bytes(object, bytes == kUncounted ? bytes : std::min(bytes, kMostBytes)));
  call.gives_result = true;
  return call;
}

// What of them goes out is known when the call is back. With more vectors than IOV_MAX calls fail.
uint64_t bytes_of(uint64_t vectors, uint64_t count) {
  uint64_t bytes = 0;
  if (count > IOV_MAX) return 0;
  for (iovec v{}; count != 0; --count, vectors += sizeof v) {
    if (!read_app(&v, vectors, sizeof v)) return kUncounted;
    bytes += v.iov_len;
  }
  return bytes;
}

HandOverCall write_call(uint64_t descriptor, uint64_t buffer, uint64_t bytes) {
  const uint64_t to = descriptor_object(descriptor, true);
  uint64_t value = 0;
  if (kind_of(to) == Kind::kEvent) return gives(to, bytes == sizeof value && read_app(&value, buffer, sizeof value) ? value : kUncounted);
  return gives_bytes(to, bytes);
}

HandOverCall write_vectors(uint64_t descriptor, uint64_t vectors, uint64_t count) {
  const uint64_t to = descriptor_object(descriptor, true);
  return to == 0 ? HandOverCall{} : gives_bytes(to, kind_of(to) == Kind::kEvent ? kUncounted : bytes_of(vectors, count));
}

HandOverCall read_call(uint64_t descriptor, uint64_t of_event) {
  const uint64_t from = descriptor_object(descriptor, false);
  return takes(from, kind_of(from) == Kind::kEvent ? of_event : counted_bytes(from, HandOverCall::kAsResult));
}

HandOverCall receive_call(uint64_t descriptor, uint64_t flags) {
  const uint64_t from = socket_object(descriptor, inode_of_socket(descriptor), false);
  return takes(from, (flags & MSG_PEEK) != 0 ? kUncounted : counted_bytes(from, HandOverCall::kAsResult));
}

HandOverCall send_call(uint64_t descriptor, uint64_t bytes, uint64_t flags) {
  return gives_bytes(socket_object(descriptor, inode_of_socket(descriptor), true), (flags & MSG_OOB) != 0 ? kUncounted : bytes);
}

uint64_t bytes_of_message(uint64_t message) {
  msghdr header{};
  return read_app(&header, message, sizeof header) ? bytes_of(word(header.msg_iov), header.msg_iovlen) : kUncounted;
}

// What comes out of a pipe, and with tee stays in it, is what goes in elsewhere.
HandOverCall splice_call(uint64_t from, uint64_t to, bool takes_out) {
  return {.gives = {{{descriptor_object(to, true), HandOverCall::kAsResult}}},
          .takes = {{{descriptor_object(from, false), takes_out ? HandOverCall::kAsResult : kUncounted}}}};
}

uint64_t semaphore_object(uint64_t set, uint64_t number) { return object(Kind::kSemaphore, uint64_t{static_cast<uint32_t>(set)} << 16 | (number & 0xffff)); }

HandOverCall semaphore_call(const uint64_t* g) {
  HandOverCall call;
  std::array<sembuf, std::tuple_size_v<HandOverCall::Parts>> operations{};
  const uint64_t count = std::min(g[kRdx], operations.size());
  const bool are_all = count == g[kRdx];
  if (count == 0 || !read_app(operations.data(), g[kRsi], count * sizeof(sembuf))) return {};
  size_t given = 0, taken = 0;
  for (uint64_t k = 0; k < count; ++k) {
    const auto& [number, units, flags] = operations[k];
    const uint64_t counted = are_all && (flags & SEM_UNDO) == 0 ? static_cast<uint64_t>(std::abs(units)) : kUncounted;
    if (units != 0)   // 0: until others have taken all
      (units > 0 ? call.gives[given++] : call.takes[taken++]) = {semaphore_object(g[kRdi], number), counted};
  }
  return call;
}

HandOverCall set_semaphore(const uint64_t* g) {
  HandOverCall call = gives(semaphore_object(g[kRdi], g[kRsi]), static_cast<uint32_t>(g[kR10]));
  call.sets = true;
  return call;
}

// Of what has priorities the first in is not the first out.
HandOverCall queue_call(uint64_t descriptor, uint64_t priority, bool is_given) {
  const uint64_t queue = queue_object(descriptor);
  return is_given ? gives(queue, priority == 0 ? 1 : kUncounted) : takes(queue, 1);
}

uint64_t message_object(uint64_t queue, uint64_t message) {
  int64_t type = 0;
  if (!read_app(&type, message, sizeof type)) return 0;
  return object(Kind::kMessages, uint64_t{static_cast<uint32_t>(queue)} << 24 | static_cast<uint64_t>(type) % 0xffffff);
}

// To a thread, or to whichever of a process takes it. `number` 0: any signal. Of equal ones that are pending most are lost.
HandOverCall::Part signal_part(uint64_t to, uint64_t is_process, uint64_t number) {
  return {static_cast<int32_t>(to) > 0 ? object(Kind::kSignal, is_process << 40 | (number & 0x7f) << 32 | static_cast<uint32_t>(to)) | border::HandOver::kNoToken : 0, kUncounted};
}

HandOverCall signal_given(uint64_t to, uint64_t is_process, uint64_t number) {
  if (number == 0) return {};
  return {.gives = {{signal_part(to, is_process, number), signal_part(to, is_process, 0)}}};
}

HandOverCall::Parts signal_taken(uint64_t number) {
  return {{signal_part(static_cast<uint64_t>(raw_syscall(SYS_gettid)), 0, number), signal_part(static_cast<uint64_t>(raw_syscall(SYS_getpid)), 1, number)}};
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
    case SYS_readv: return read_call(g[kRdi], kUncounted);
    case SYS_read: return read_call(g[kRdi], HandOverCall::kAsRead);
    case SYS_pwritev2:
      if (g[kR10] != kAtPosition) return {};
      [[fallthrough]];
    case SYS_writev: return write_vectors(g[kRdi], g[kRsi], g[kRdx]);
    case SYS_write: return write_call(g[kRdi], g[kRsi], g[kRdx]);
    case SYS_sendfile: return gives_bytes(descriptor_object(g[kRdi], true), g[kR10]);
    case SYS_splice: return splice_call(g[kRdi], g[kRdx], true);
    case SYS_tee: return splice_call(g[kRdi], g[kRsi], false);
    case SYS_recvfrom: return receive_call(g[kRdi], g[kR10]);
    case SYS_recvmsg: return receive_call(g[kRdi], g[kRdx]);
    case SYS_recvmmsg: return takes(socket_object(g[kRdi], inode_of_socket(g[kRdi]), false), kUncounted);
    case SYS_sendto: return send_call(g[kRdi], g[kRdx], g[kR10]);
    case SYS_sendmsg: return send_call(g[kRdi], bytes_of_message(g[kRsi]), g[kRdx]);
    case SYS_sendmmsg: return send_call(g[kRdi], kUncounted, 0);
    case SYS_mq_timedreceive: return queue_call(g[kRdi], 0, false);
    case SYS_mq_timedsend: return queue_call(g[kRdi], g[kR10], true);
    case SYS_semop: case SYS_semtimedop: return semaphore_call(g);
    case SYS_semctl: return g[kRdx] == SETVAL ? set_semaphore(g) : HandOverCall{};
    case SYS_msgrcv: return takes(object(Kind::kMessages, g[kRdi]), 1);   // see parts_done
    case SYS_msgsnd: return gives(message_object(g[kRdi], g[kRsi]), 1);
    case SYS_rt_sigtimedwait: case SYS_rt_sigsuspend: case SYS_pause: return {.takes = signal_taken(0)};   // see parts_done
    case SYS_kill: case SYS_rt_sigqueueinfo: return signal_given(g[kRdi], 1, g[kRsi]);
    case SYS_tkill: return signal_given(g[kRdi], 0, g[kRsi]);
    case SYS_tgkill: case SYS_rt_tgsigqueueinfo: return signal_given(g[kRsi], 0, g[kRdx]);
    default: return {};
  }
}

HandOverCall::Parts parts_done(const ThreadContext* c, uint64_t number, const HandOverCall::Parts& parts) {
  const uint64_t* g = c->app.gpr;
  const uint64_t result = std::max<int64_t>(static_cast<int64_t>(g[kRax]), 0);
  if (number == SYS_msgrcv) return {{{message_object(g[kRdi], g[kRsi]), (g[kR8] & MSG_COPY) != 0 ? kUncounted : 1}}};
  if (number == SYS_rt_sigtimedwait) return signal_taken(result);
  HandOverCall::Parts done = parts;
  for (HandOverCall::Part& part : done) {
    uint64_t value = 0;
    if (part.units == HandOverCall::kAsRead) part.units = result == 0 ? 0 : read_app(&value, g[kRsi], sizeof value) ? value : kUncounted;
    if (part.units == HandOverCall::kAsResult) part.units = result;
  }
  return done;
}

void name_what_was_made(const ThreadContext* c, uint64_t number) {
  const uint64_t* g = c->app.gpr;
  if (static_cast<int64_t>(g[kRax]) < 0) return;
  switch (number) {
    case SYS_socketpair: return name_pair(g[kRsi], g[kR10]);
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

}  // namespace simrun::engine
