// A launched program cannot tell that it was not started natively, and whoever waits for it sees the same.
#include "instr/host/launch.h"
#include "instr/host/target.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "run_child.h"

namespace simrun::host {
namespace {

void expect_same(const std::vector<std::string>& command, const Setting& setting = {}, const std::string& engine = STUB_ENGINE) {
  SCOPED_TRACE(command[0]);
  const Outcome native = run_natively(command, setting);
  LaunchOptions options;
  options.command = command;
  options.engine_path = engine;
  const Outcome launched = run_launched(options, setting);
  EXPECT_EQ(launched.refused, "");
  EXPECT_EQ(launched.failure, "");
  EXPECT_EQ(launched.engine_state, 1u);
  EXPECT_EQ(launched.wait_status, native.wait_status);
  EXPECT_EQ(launched.output, native.output);
  EXPECT_EQ(launched.error, native.error);
}

// The stand-in where every user can read it: the build may lie in a closed folder.
class PublicEngine {
 public:
  PublicEngine() {
    char name[] = "/tmp/simrun_engine_XXXXXX";
    folder_ = mkdtemp(name);
    std::filesystem::permissions(folder_, std::filesystem::perms{0755});
    std::filesystem::copy_file(STUB_ENGINE, path());
  }
  ~PublicEngine() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/engine"; }

 private:
  std::string folder_;
};

TEST(Launch, RealPrograms) {
  expect_same({"ls", "-l", "/usr"});
  expect_same({"busybox", "ls", "/usr"});
  expect_same({"bash", "-c", "echo one | cat; echo two >&2; exit 7"});
  expect_same({"perl", "-e", "print sum(map { $_ ** 2 } 1..10), \"\\n\"; sub sum { my $s = 0; $s += $_ for @_; $s }"});
}

TEST(Launch, StandardInput) {
  Setting s;
  s.input = std::string(100000, 'a') + "\n";
  expect_same({"wc"}, s);
  expect_same({"cat"}, s);
}

TEST(Launch, ExitStatusAndSignals) {
  for (const char* script : {"exit 0", "exit 255", "kill -SEGV $$", "kill -KILL $$", "kill -TERM $$", "kill -USR1 $$"})
    expect_same({"sh", "-c", script});
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool kNeedsAddresses = true;  // AddressSanitizer's own shadow does not fit under an address-space limit
#else
constexpr bool kNeedsAddresses = false;
#endif

class Views : public ::testing::TestWithParam<const char*> {};

TEST_P(Views, SameAsNative) { expect_same({guest(GetParam()), "layout", "an argument", ""}); }

TEST_P(Views, SameAsNativeRandomised) {
  Setting s;
  s.aslr = true;
  expect_same({guest(GetParam())}, s);
}

TEST_P(Views, LegacyLayout) {
  Setting s;
  s.before = [] {
    rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &unlimited);
  };
  expect_same({guest(GetParam()), "layout"}, s);
}

TEST_P(Views, InheritedState) {
  Setting s;
  s.before = [] {
    // The signal state of this process at its start is what counts, so only things that simrun does not record are changed here.
    umask(0123);
    clearenv();
    setenv("ONLY", "this", 1);
    fcntl(1, F_DUPFD, 17);
    rlimit l{77, 99};
    setrlimit(RLIMIT_CORE, &l);
    if (chdir("/usr") != 0) _exit(3);
  };
  expect_same({guest(GetParam()), "layout"}, s);
}

INSTANTIATE_TEST_SUITE_P(Guests, Views, ::testing::Values("host_view_pie", "host_view_no_pie", "host_view_static"));

TEST(Launch, SignalStateIsThatOfWhoeverStartedSimrun) {
  Setting s;
  s.before = [] {
    for (const int ignored : {SIGHUP, SIGINT, SIGTRAP, SIGCHLD, SIGPIPE}) signal(ignored, SIG_IGN);
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int number : {SIGUSR1, SIGTRAP, SIGCHLD, SIGRTMAX}) sigaddset(&blocked, number);
    sigprocmask(SIG_SETMASK, &blocked, nullptr);
  };
  const Outcome native = run_natively({guest("host_view_pie")}, s);
  const Outcome launched = run_natively({guest("host_launcher"), STUB_ENGINE, guest("host_view_pie")}, s);
  EXPECT_NE(native.output.find("SigIgn:\t0000000000011013"), std::string::npos) << native.output;
  // Not the status: with SIGCHLD ignored this test's own process cannot learn it.
  EXPECT_EQ(launched.error, "");
  EXPECT_EQ(launched.output, native.output);
}

TEST(Launch, FirstInstructionSeesInitialRegisters) { expect_same({guest("host_first_instruction")}); }

TEST(Launch, RandomisedAddressesDiffer) {
  Setting s;
  s.aslr = true;
  const std::vector<std::string> command = {guest("host_view_pie"), "layout"};
  EXPECT_NE(run_launched(command, s).output, run_launched(command, s).output);
  EXPECT_NE(run_launched(command).output, "");
}

TEST(Launch, ProgramsAddressSpaceLimitLeavesRoomForTheEngine) {
  if (kNeedsAddresses) GTEST_SKIP() << "limits the address space of a sanitized process";
  Setting s;
  s.before = [] {
    rlimit l{2ull << 30, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &l);
    setrlimit(RLIMIT_DATA, &l);
  };
  s.during = [](Target& t) {
    if (t.header().app_limit_address_space[0] != 2ull << 30 || t.header().app_limit_data[0] != 2ull << 30) _exit(4);
  };
  expect_same({"ls", "/"}, s);
}

TEST(Launch, HardLimitThatCannotBeRaised) {
  if (kNeedsAddresses) GTEST_SKIP() << "limits the address space of a sanitized process";
  if (geteuid() != 0) GTEST_SKIP() << "changes user";
  Setting s;
  s.before = [] {
    rlimit l{512ull << 20, 512ull << 20};
    setrlimit(RLIMIT_AS, &l);
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(3);
    prctl(PR_SET_DUMPABLE, 1);  // as in a process that was started by that user
  };
  const PublicEngine engine;
  LaunchOptions options;
  options.command = {"ls", "/"};
  options.engine_path = engine.path();
  const Outcome o = run_launched(options, s);
  EXPECT_NE(o.refused.find("ulimit -v"), std::string::npos) << o.refused;
  EXPECT_EQ(o.refused_status, 1);
}

TEST(Launch, SmallFileSizeLimit) {
  Setting s;
  s.before = [] {
    rlimit l{1 << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &l);
  };
  expect_same({"ls", "/"}, s);
}

TEST(Launch, OrdinaryUser) {
  if (geteuid() != 0) GTEST_SKIP() << "changes user";
  Setting s;
  s.before = [] {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(3);
    prctl(PR_SET_DUMPABLE, 1);
    if (chdir("/") != 0) _exit(3);
  };
  const PublicEngine engine;
  expect_same({"ls", "/"}, s, engine.path());
}

TEST(Launch, ForwardsSignals) {
  Setting s;
  s.during = [](Target& t) {
    while (t.header().engine_state == 0 && t.running()) usleep(200);
    t.forward_signal(SIGTERM);
  };
  const Outcome o = run_launched({"sleep", "1000"}, s);
  EXPECT_TRUE(WIFSIGNALED(o.wait_status));
  EXPECT_EQ(WTERMSIG(o.wait_status), SIGTERM);
}

TEST(Launch, DestructionEndsTheProgram) {
  LaunchOptions options;
  options.command = {"sleep", "1000"};
  options.engine_path = STUB_ENGINE;
  pid_t pid;
  {
    const auto target = std::make_unique<Target>(launch(options));
    pid = target->pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(Launch, EngineReportsFailure) {
  Setting s;
  s.before = [] { setenv("SIMRUN_STUB", "fail", 1); };
  const Outcome o = run_launched({"ls"}, s);
  EXPECT_EQ(o.engine_state, 3u);
  EXPECT_EQ(o.failure, "as asked");
}

TEST(Launch, NoDescriptorStaysOpen) {
  LaunchOptions options;
  options.command = {"true"};
  options.engine_path = STUB_ENGINE;
  const int before = dup(0);
  close(before);
  { const auto target = std::make_unique<Target>(launch(options)); }
  const int after = dup(0);
  close(after);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace simrun::host
