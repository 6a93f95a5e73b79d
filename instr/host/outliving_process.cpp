#include "instr/host/outliving_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "instr/host/attach.h"
#include "instr/host/stream_discarder.h"

namespace simrun::host {
namespace {

FileDescriptor above_standard(FileDescriptor descriptor) {
  if (descriptor.get() > STDERR_FILENO) return descriptor;
  return FileDescriptor(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace

Connection connect_processes() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return {FileDescriptor(), FileDescriptor()};
  return {above_standard(FileDescriptor(sockets[0])), above_standard(FileDescriptor(sockets[1]))};
}

void outlive(const char* name) {
  prctl(PR_SET_NAME, name);
  setsid();
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE}) std::signal(signal, SIG_IGN);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO), dup2(nothing, STDOUT_FILENO);
}

bool has_ended(const FileDescriptor& process) {
  if (!process) return true;
  pollfd p{process.get(), POLLIN, 0};
  return poll(&p, 1, 0) == 1;
}

bool send(int socket, const void* message, size_t bytes, int descriptor) {
  iovec data{const_cast<void*>(message), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (descriptor >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* const c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
  }
  ssize_t sent;
  while ((sent = sendmsg(socket, &header, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return sent == static_cast<ssize_t>(bytes);
}

bool receive(int socket, void* message, size_t bytes, FileDescriptor& file) {
  iovec data{message, bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got;
  while ((got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (got != static_cast<ssize_t>(bytes)) return false;
  int descriptor = -1;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c))
    if (c->cmsg_type == SCM_RIGHTS) std::memcpy(&descriptor, CMSG_DATA(c), sizeof descriptor);
  file = FileDescriptor(descriptor);
  return true;
}

void release(pid_t pid, const FileDescriptor& process, const FileDescriptor& file, bool killed) {
  struct stat s {};
  if (has_ended(process) || fstat(file.get(), &s) != 0) return;
  const auto bytes = static_cast<uint64_t>(s.st_size);
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (at == MAP_FAILED) return;
  LocalMapping mapping(at, bytes);
  if (mapping.header().engine_state >= 2) return;  // executed something else, or left before
  mapping.header().simulator_pid = getpid();
  Target target(pid, std::move(mapping), Target::Relation::kStranger, FileDescriptor(fcntl(process.get(), F_DUPFD_CLOEXEC, 0)));
  const StreamDiscarder discarder(target);
  std::fprintf(stderr, "simrun: %s; process %d goes on natively\n", killed ? "killed" : "ended by an error", pid);
  while (target.running() && target.header().engine_state < 2 && !leave_native(target)) usleep(500'000);
}

}  // namespace simrun::host
