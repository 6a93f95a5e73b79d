#include "instr/host/guardian.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <utility>
#include <vector>

#include "instr/host/outliving_process.h"

namespace simrun::host {

namespace {

constexpr pid_t kGoHome = 0, kForgetAll = -1;  // or the pid of a process

struct Guarded {
  pid_t pid;
  FileDescriptor process, file;  // a pidfd: the number may be another process's by the time that it matters
};

[[noreturn]] void run(int socket) {
  outlive("simrun-guardian");
  std::vector<Guarded> all;
  pid_t message;
  for (FileDescriptor file; receive(socket, &message, sizeof message, file);) {
    if (message == kGoHome) _exit(0);
    if (message == kForgetAll) {
      all.clear();
      continue;
    }
    std::erase_if(all, [](const Guarded& guarded) { return has_ended(guarded.process); });
    all.push_back({message, FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, message, 0))), std::move(file)});
  }
  for (const Guarded& guarded : all) release(guarded.pid, guarded.process, guarded.file);
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

Guardian::~Guardian() {
  if (pid_ <= 0) return;
  tell(kGoHome, -1);
  waitpid(pid_, nullptr, 0);
}

void Guardian::guard(pid_t pid, FileDescriptor file) {
  if (file) tell(pid, file.get());
}

void Guardian::forget_all() { tell(kForgetAll, -1); }

void Guardian::tell(pid_t message, int descriptor) {
  if (pid_ > 0) send(socket_.get(), &message, sizeof message, descriptor);
}

}  // namespace simrun::host
