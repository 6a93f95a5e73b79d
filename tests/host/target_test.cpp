// Whether a child runs, while it is traced.
#include "instr/host/target.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/user_error.h"
#include "instr/host/remote_process.h"

namespace simrun::host {
namespace {

LocalMapping some_mapping() {
  constexpr uint64_t kBytes = 1 << 20;
  return {mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), kBytes};
}

TEST(Target, ChildThatIsStoppedByItsTracerStillRuns) {
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    _exit(7);
  }
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT), 0);
  Target target(pid, some_mapping(), Target::Relation::kChild, FileDescriptor());
  EXPECT_TRUE(target.running());
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid) << "the stop is still there to be handled";
  EXPECT_TRUE(target.running());
  ptrace(PTRACE_CONT, pid, nullptr, nullptr);
  while (target.running()) usleep(1000);
  EXPECT_TRUE(WIFEXITED(target.wait_status()));
  EXPECT_EQ(WEXITSTATUS(target.wait_status()), 7);
}

// Else simrun would end as if the program had succeeded.
TEST(Target, StatusOfWhoIsKilledInARemoteCallIsKept) {
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    _exit(7);
  }
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACESYSGOOD);
  user_regs_struct registers{};
  ASSERT_EQ(ptrace(PTRACE_GETREGS, pid, nullptr, &registers), 0);
  std::thread killer([pid] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(pid, SIGKILL);
  });
  RemoteProcess process(pid, registers);
  EXPECT_THROW(process.call(SYS_pause), UserError);
  killer.join();
  Target target(pid, some_mapping(), Target::Relation::kChild, FileDescriptor());
  EXPECT_FALSE(target.running());
  EXPECT_TRUE(WIFSIGNALED(target.wait_status()) && WTERMSIG(target.wait_status()) == SIGKILL);
}

}  // namespace
}  // namespace simrun::host
