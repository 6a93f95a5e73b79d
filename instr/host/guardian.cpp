#include "instr/host/guardian.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "instr/host/outliving_process.h"

namespace simrun::host {

namespace {

constexpr pid_t kEnds = 0, kForgetAll = -1;  // or the pid of a process; below: -pid, of one that has stopped

struct Guarded {
  pid_t pid;
  FileDescriptor process, file;  // a pidfd: the number may be another process's by the time that it matters
};

bool is_stopped(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string stat;
  std::getline(file, stat);
  const size_t behind_name = stat.rfind(')');
  return behind_name != std::string::npos && stat.compare(behind_name, 3, ") T") == 0;
}

// simrun is about to stop with `pid`, which it does at once or not at all: until one of them goes on, or has ended.
void continue_with(pid_t pid, pid_t simrun, int socket) {
  pollfd heard{socket, POLLIN, 0};
  for (int k = 0; k < 1000 && !is_stopped(simrun); ++k)
    if (poll(&heard, 1, 1) != 0) return;
  pollfd hung_up{socket, 0, 0};
  while (is_stopped(pid) && is_stopped(simrun)) poll(&hung_up, 1, 10);
  if (is_stopped(simrun)) kill(simrun, SIGCONT);
}

[[noreturn]] void run(int socket) {
  const pid_t simrun = getppid();
  outlive("simrun-guardian");
  std::vector<Guarded> all;
  pid_t message;
  bool killed = true;
  for (FileDescriptor file; receive(socket, &message, sizeof message, file);) {
    if (message == kEnds) {
      killed = false;
      continue;
    }
    if (message == kForgetAll) {
      all.clear();
      continue;
    }
    if (message < kForgetAll) {
      continue_with(-message, simrun, socket);
      continue;
    }
    std::erase_if(all, [](const Guarded& guarded) { return has_ended(guarded.process); });
    all.push_back({message, FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, message, 0))), std::move(file)});
  }
  for (const Guarded& guarded : all) release(guarded.pid, guarded.process, guarded.file, killed);
  _exit(0);
}

}  // namespace

Guardian::Guardian() {
  auto [ours, other] = connect_processes();
  if (!ours || !other) return;
  socket_ = std::move(ours);
  pid_ = fork();
  if (pid_ != 0) return;
  socket_.close_now();
  run(other.get());
}

// Whoever has not been forgotten is let go: there was an error.
Guardian::~Guardian() {
  if (pid_ <= 0) return;
  tell(kEnds, -1);
  socket_.close_now();
  kill(pid_, SIGCONT);   // somebody may have stopped it
  waitpid(pid_, nullptr, 0);
}

void Guardian::guard(pid_t pid, FileDescriptor file) {
  if (file) tell(pid, file.get());
}

void Guardian::forget_all() { tell(kForgetAll, -1); }

bool Guardian::continue_with(pid_t pid) { return tell(-pid, -1); }

bool Guardian::tell(pid_t message, int descriptor) {
  return pid_ > 0 && send(socket_.get(), &message, sizeof message, descriptor);
}

}  // namespace simrun::host
