// simrun from outside: which children it follows, what they are in the results, and what becomes of those that outlive the program.
#include <cstdlib>

#include "run_command.h"

namespace simrun::cli {
namespace {

// The processes of results.json whose command starts with `name`.
std::vector<nlohmann::json> named(const nlohmann::json& results, const std::string& name) {
  std::vector<nlohmann::json> found;
  for (const auto& p : results["processes"])
    if (p["command"].get<std::string>().starts_with(name)) found.push_back(p);
  return found;
}

TEST_F(RunCommand, FollowsForkAndExec) {
  EXPECT_EXITS(run({"--mode", "trace", "--json", json(), "--", "/bin/sh", "-c", "/bin/echo a; (true; exit 3); echo $?"}), 0);
  EXPECT_EQ(read_file(out()), "a\n3\n");
  const auto r = results();
  EXPECT_EQ(named(r, "/bin/sh").size(), 2u);   // itself and the part in parentheses
  EXPECT_EQ(named(r, "/bin/echo").size(), 1u);
  EXPECT_EQ(r["process"]["native_children"], 0);
  EXPECT_EQ(r["threads"].size(), 3u);
  for (const auto& t : r["threads"]) EXPECT_GT(t["instructions"], 100);
}

// Many have ended before anybody looks at them again.
TEST_F(RunCommand, ShortLivedProcessesHaveTheirCommands) {
  const std::string script = "i=0; while [ $i -lt 50 ]; do /bin/true $i & (exit 3) & i=$((i+1)); done; wait";
  EXPECT_EXITS(run({"--mode", "trace", "--json", json(), "--", "/bin/sh", "-c", script}), 0);
  const auto r = results();
  EXPECT_EQ(r["processes"].size(), 151u);
  EXPECT_EQ(named(r, "/bin/sh -c " + script).size(), 101u);
  for (int k = 0; k < 50; ++k) EXPECT_EQ(named(r, "/bin/true " + std::to_string(k)).empty(), false) << k;
}

TEST_F(RunCommand, FollowedExecCountsAsMuchAsTheProgramAlone) {
  run({"--mode", "trace", "--json", json(), "--", "/bin/true"});
  const auto alone = results()["totals"]["instructions"].get<int64_t>();
  run({"--mode", "trace", "--json", json(), "--", "/bin/sh", "-c", "exec /bin/true"});
  const auto r = results();
  ASSERT_EQ(r["threads"].size(), 2u);
  // The environment differs a little (`_`, OLDPWD, PWD).
  EXPECT_NEAR(r["threads"][1]["instructions"].get<double>(), static_cast<double>(alone), static_cast<double>(alone) / 50);
}

TEST_F(RunCommand, FollowsNothingWhenTold) {
  EXPECT_EXITS(run({"--mode", "trace", "--follow-children=no", "--json", json(), "--", "/bin/sh", "-c", "/bin/echo a; exit 4"}), 4);
  const auto r = results();
  EXPECT_EQ(r["processes"].size(), 1u);
  EXPECT_EQ(r["process"]["native_children"], 1);
}

TEST_F(RunCommand, FollowsByPattern) {
  EXPECT_EXITS(run({"--mode", "trace", "--follow-children=ech?", "--json", json(), "--", "/bin/bash", "-c",
                   "/usr/bin/env /bin/true; /usr/bin/env /bin/echo hello; /bin/true"}),
              0);
  EXPECT_EQ(read_file(out()), "hello\n");
  const auto r = results();
  EXPECT_EQ(named(r, "/bin/echo").size(), 1u);
  EXPECT_EQ(named(r, "/bin/true").size(), 0u);
  EXPECT_EQ(named(r, "/usr/bin/env").size(), 0u);
  run({"--mode", "trace", "--follow-children=*bin/tru*", "--json", json(), "--", "/bin/sh", "-c", "/usr/bin/env /bin/true"});
  EXPECT_EQ(named(results(), "/bin/true").size(), 1u);
}

// They are traced until they end, of which a pidfd tells as soon as it has come.
TEST_F(RunCommand, EndsOfChildrenLeftOutCanBeWaitedForAtOnce) {
  const std::string script = R"(
import os, select, subprocess
missed = 0
for k in range(30):
    child = subprocess.Popen(["/bin/true"])
    end = os.pidfd_open(child.pid)
    select.select([end], [], [])
    if k % 2:
        missed += os.waitid(os.P_PIDFD, end, os.WEXITED | os.WNOHANG) is None
    else:
        missed += os.waitpid(child.pid, os.WNOHANG) == (0, 0)
print(missed)
)";
  EXPECT_EXITS(run({"--mode", "null", "--follow-children=python3*", "--", "/usr/bin/python3", "-W", "ignore", "-c", script}), 0);
  EXPECT_EQ(read_file(out()), "0\n");
}

// Translated calls have none: they cannot be switched on, also where the kernel has them.
TEST_F(RunCommand, ShadowStacksAreNotThere) {
  const std::string script = R"(
import ctypes
call = ctypes.CDLL(None, use_errno=True).syscall
status = ctypes.c_ulong(7)
for operation, argument in ((0x5001, 1), (0x5001, 3), (0x5002, 1), (0x5003, 1), (0x5005, ctypes.byref(status))):
    print(call(158, operation, argument), ctypes.get_errno(), end=" ")
print(call(453, 0, 4096, 0), ctypes.get_errno(), status.value)
)";
  EXPECT_EXITS(run({"--mode", "null", "--", "/usr/bin/python3", "-c", script}), 0);
  EXPECT_EQ(read_file(out()), "-1 22 -1 22 -1 22 -1 22 -1 22 -1 38 7\n");
}

TEST_F(RunCommand, ChildrenThatOutliveTheProgramGoOn) {
  const std::string mark = directory_ / "mark";
  ASSERT_EQ(mkfifo((mark + ".go").c_str(), 0600), 0);
  EXPECT_EXITS(run({"--mode", "trace", "--json", json(), "--", "/bin/sh", "-c",
                   "(read x < " + mark + ".go; echo done > " + mark + ".tmp; mv " + mark + ".tmp " + mark + ") & exit 5"}),
              5);
  // When the program ends before its child has asked to be followed, the child is a native one.
  const auto process = results()["process"];
  EXPECT_EQ(process["left_running"].get<int>() + process["native_children"].get<int>(), 1) << process;
  std::ofstream(mark + ".go") << "go\n";
  for (int i = 0; i < 2000 && !fs::exists(mark); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(read_file(mark), "done\n");
}

// Each process in which the engine gives up says why: here of 32-bit execve calls.
TEST_F(RunCommand, NamesEachProcessThatItGivesUpIn) {
  EXPECT_EXITS(run({"--mode", "null", "--json", json(), "--", "/usr/bin/python3", "-c",
                   "import ctypes, mmap, os\n"
                   "page = mmap.mmap(-1, 4096, prot=7)\n"
                   "page.write(bytes.fromhex('b80b000000cd80c3'))\n"   // mov $11, %eax; int $0x80; ret
                   "call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))\n"
                   "for k in range(3):\n"
                   "  pid = os.fork()\n"
                   "  if pid == 0: call()\n"
                   "  os.waitpid(pid, 0)\n"}),
              1);
  const auto r = results();
  EXPECT_NE(r["error"].get<std::string>().find("32-bit system call 11"), std::string::npos);
  int named = 0;
  for (const auto& warning : r["warnings"]) named += warning.get<std::string>().find("32-bit system call 11") != std::string::npos;
  EXPECT_EQ(named, 2) << r["warnings"];
}

TEST_F(RunCommand, WaitsForChildrenWhenTold) {
  EXPECT_EXITS(run({"--mode", "trace", "--wait-for-children", "--json", json(), "--", "/bin/bash", "-c",
                   "{ for ((i = 0; i < 2000; ++i)); do :; done; exec /bin/echo later; } & exit 6"}),
              6);
  EXPECT_EQ(read_file(out()), "later\n");
  EXPECT_EQ(named(results(), "/bin/echo").size(), 1u);
}

}  // namespace
}  // namespace simrun::cli
