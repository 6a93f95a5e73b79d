#include "instr/host/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

#include "instr/host/attach.h"
#include "instr/host/stream_discarder.h"

namespace simrun::host {

namespace {

constexpr pid_t kGoHome = 0, kForgetAll = -1;

struct Message {
  pid_t pid;  // or one of these
};

struct Guarded {
  pid_t pid;
  FileDescriptor process, file;  // a pidfd: the number may be another process's by the time that it matters
};

bool has_ended(const Guarded& guarded) {
  if (!guarded.process) return true;   // before we looked
  pollfd p{guarded.process.get(), POLLIN, 0};
  return poll(&p, 1, 0) == 1;
}

bool send(int socket, const Message& message, int descriptor) {
  iovec data{const_cast<Message*>(&message), sizeof message};
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
  return sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
}

// False: nobody is there to send any more.
bool receive(int socket, Message& message, FileDescriptor& file) {
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got;
  while ((got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (got != static_cast<ssize_t>(sizeof message)) return false;
  int descriptor = -1;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c))
    if (c->cmsg_type == SCM_RIGHTS) std::memcpy(&descriptor, CMSG_DATA(c), sizeof descriptor);
  file = FileDescriptor(descriptor);
  return true;
}

// Until the process runs natively, or has ended.
void release(const Guarded& guarded) {
  struct stat s {};
  if (has_ended(guarded) || fstat(guarded.file.get(), &s) != 0) return;
  const auto bytes = static_cast<uint64_t>(s.st_size);
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, guarded.file.get(), 0);
  if (at == MAP_FAILED) return;
  LocalMapping mapping(at, bytes);
  if (mapping.header().engine_state >= 2) return;  // executed something else, or left before
  mapping.header().simulator_pid = getpid();
  Target target(guarded.pid, std::move(mapping), Target::Relation::kStranger, FileDescriptor(fcntl(guarded.process.get(), F_DUPFD_CLOEXEC, 0)));
  const StreamDiscarder discarder(target);
  std::fprintf(stderr, "simrun: killed; process %d goes on natively\n", guarded.pid);
  while (target.running() && target.header().engine_state < 2 && !leave_native(target)) usleep(500'000);
}

// simrun may have been started without standard output; what is printed must not get into the socket.
FileDescriptor above_standard(FileDescriptor descriptor) {
  if (descriptor.get() > STDERR_FILENO) return descriptor;
  return FileDescriptor(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

[[noreturn]] void run(int socket) {
  prctl(PR_SET_NAME, "simrun-guardian");
  setsid();  // what ends simrun's terminal or job does not end this
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE}) std::signal(signal, SIG_IGN);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO), dup2(nothing, STDOUT_FILENO);
  std::vector<Guarded> all;
  Message message{};
  for (FileDescriptor file; receive(socket, message, file);) {
    if (message.pid == kGoHome) _exit(0);
    if (message.pid == kForgetAll) {
      all.clear();
      continue;
    }
    std::erase_if(all, has_ended);
    all.push_back(
        {message.pid, FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, message.pid, 0))), std::move(file)});
  }
  for (const Guarded& guarded : all) release(guarded);
  _exit(0);
}

}  // namespace

Guardian::Guardian() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return;
  socket_ = above_standard(FileDescriptor(sockets[0]));
  FileDescriptor other = above_standard(FileDescriptor(sockets[1]));
  pid_ = fork();
  if (pid_ != 0) return;
  socket_.close_now();
  run(other.get());
}

Guardian::~Guardian() {
  if (pid_ <= 0) return;
  send(socket_.get(), {kGoHome}, -1);
  waitpid(pid_, nullptr, 0);
}

void Guardian::guard(Target& target) {
  const FileDescriptor file = target.take_file();
  if (pid_ > 0 && file) send(socket_.get(), {target.pid()}, file.get());
}

void Guardian::forget_all() {
  if (pid_ > 0) send(socket_.get(), {kForgetAll}, -1);
}

}  // namespace simrun::host
