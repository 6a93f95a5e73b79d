// Every way in which a program cannot be run: one message, the shell's exit status. And what can be run, as execvp would.
#include "instr/host/program_lookup.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "base/user_error.h"
#include "run_child.h"

namespace simrun::host {
namespace {

namespace fs = std::filesystem;

class ProgramLookup : public ::testing::Test {
 protected:
  ProgramLookup() {
    char name[] = "/tmp/simrun_lookup_XXXXXX";
    folder_ = mkdtemp(name);
    chmod(folder_.c_str(), 0755);
  }
  ~ProgramLookup() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& content, mode_t mode = 0755) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << content;
    chmod(path.c_str(), mode);
    return path;
  }

  // launch() must refuse with this status and a message that contains each of these.
  void expect_refused(const std::vector<std::string>& command, int status, const std::vector<std::string>& parts, const Setting& s = {}) {
    const Outcome o = run_launched(command, s);
    EXPECT_EQ(o.refused_status, status) << o.refused;
    for (const std::string& p : parts) EXPECT_NE(o.refused.find(p), std::string::npos) << o.refused;
    EXPECT_EQ(o.refused.find('\n'), std::string::npos);
    EXPECT_EQ(o.output, "");
  }

  static std::string elf(uint8_t elf_class, uint16_t machine) {
    Elf64_Ehdr h{};
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = elf_class;
    h.e_machine = machine;
    return std::string(reinterpret_cast<char*>(&h), sizeof h) + std::string(200, '\0');
  }

  std::string folder_;
};

Setting as_nobody() {
  Setting s;
  s.before = [] {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(3);
    prctl(PR_SET_DUMPABLE, 1);
  };
  return s;
}

TEST_F(ProgramLookup, Missing) {
  expect_refused({"no-such-program-anywhere"}, 127, {"no-such-program-anywhere", "PATH"});
  expect_refused({"./no-such-program"}, 127, {"./no-such-program"});
  expect_refused({"/etc/passwd/x"}, 127, {"/etc/passwd/x"});
  expect_refused({""}, 127, {});
  expect_refused({}, 2, {"no program"});
}

TEST_F(ProgramLookup, Directory) { expect_refused({"/tmp"}, 126, {"/tmp", "directory"}); }

TEST_F(ProgramLookup, NotExecutable) {
  expect_refused({file("plain", "echo no\n", 0644)}, 126, {"plain", "not executable"});
  Setting s;
  s.before = [this] { setenv("PATH", folder_.c_str(), 1); };
  expect_refused({"plain"}, 126, {folder_ + "/plain"}, s);
}

TEST_F(ProgramLookup, ScriptWithoutInterpreterLineRunsInTheShell) {
  const std::string script = file("script", "echo \"$0 $1 $#\"\nexit 5\n");
  const Outcome o = run_launched({script, "a b", "c"});
  EXPECT_EQ(o.refused, "");
  EXPECT_EQ(o.output, script + " a b 2\n");
  EXPECT_EQ(WEXITSTATUS(o.wait_status), 5);
  const Outcome native = run_natively({script, "a b", "c"});
  EXPECT_EQ(o.output, native.output);
}

TEST_F(ProgramLookup, ScriptWithInterpreterLine) {
  const Outcome o = run_launched({file("script", "#! /bin/sh -e\necho $0 $1\nfalse\nexit 0\n"), "x"});
  EXPECT_EQ(o.output, folder_ + "/script x\n");
  EXPECT_EQ(WEXITSTATUS(o.wait_status), 1);
}

TEST_F(ProgramLookup, ScriptOfAScript) {
  const std::string outer = file("outer", "#!/bin/sh\necho outer \"$@\"\n");
  const std::string inner = file("inner", "#!" + outer + " option\n");
  EXPECT_EQ(run_launched({inner, "x"}).output, "outer option " + inner + " x\n");
}

TEST_F(ProgramLookup, BadInterpreters) {
  expect_refused({file("a", "#!/no/such/interpreter\n")}, 127, {"/a", "/no/such/interpreter"});
  expect_refused({file("b", "#!\n")}, 126, {"/b", "interpreter"});
  expect_refused({file("c", "#!/tmp\n")}, 126, {"/c", "/tmp"});
  const std::string loop = file("d", "#!" + folder_ + "/d\n");
  expect_refused({loop}, 126, {"/d", "too many"});
}

TEST_F(ProgramLookup, NeitherProgramNorScript) { expect_refused({file("x", std::string("\0\1\2\3", 4))}, 126, {"/x", "neither"}); }

TEST_F(ProgramLookup, OtherArchitectures) {
  expect_refused({file("i386", elf(ELFCLASS32, EM_386))}, 126, {"/i386", "32-bit"});
  expect_refused({file("x32", elf(ELFCLASS32, EM_X86_64))}, 126, {"/x32", "32-bit"});
  expect_refused({file("arm", elf(ELFCLASS64, EM_AARCH64))}, 126, {"/arm", "another processor"});
  expect_refused({file("script", "#!" + folder_ + "/i386\n")}, 126, {"/i386", "32-bit"});
}

TEST_F(ProgramLookup, DamagedElf) {
  expect_refused({file("damaged", elf(ELFCLASS64, EM_X86_64))}, 126, {"/damaged", "ELF"});
}

TEST_F(ProgramLookup, FirstInPathThatCanBeRunWins) {
  file("ls", "not executable", 0644);
  Setting s;
  s.before = [this] { setenv("PATH", (folder_ + ":/bin").c_str(), 1); };
  EXPECT_EQ(run_launched({"ls", "/"}, s).output, run_natively({"/bin/ls", "/"}).output);
}

TEST_F(ProgramLookup, EmptyPathElementIsTheCurrentDirectory) {
  file("here", "#!/bin/sh\necho here\n");
  Setting s;
  s.before = [this] {
    setenv("PATH", "/nowhere::/bin", 1);
    if (chdir(folder_.c_str()) != 0) _exit(3);
  };
  EXPECT_EQ(run_launched({"here"}, s).output, "here\n");
}

TEST_F(ProgramLookup, SetUid) {
  if (geteuid() != 0) GTEST_SKIP() << "makes a set-uid file";
  const std::string path = folder_ + "/id";
  fs::copy_file("/usr/bin/id", path);
  chmod(path.c_str(), 04755);
  expect_refused({path}, 126, {"set-uid", "root"}, as_nobody());
  EXPECT_EQ(run_launched({path, "-u"}).output, "0\n");  // root loses nothing
  chmod(path.c_str(), 02755);
  expect_refused({path}, 126, {"set-gid"}, as_nobody());
}

TEST_F(ProgramLookup, Unreadable) {
  if (geteuid() != 0) GTEST_SKIP() << "changes user";
  const std::string path = folder_ + "/ls";
  fs::copy_file("/bin/ls", path);
  chmod(path.c_str(), 0711);
  expect_refused({path}, 126, {"read"}, as_nobody());
}

TEST_F(ProgramLookup, PtraceForbidden) {
  Setting s;
  s.before = [] {
    sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{4, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(3);
  };
  expect_refused({"ls"}, 1, {"ptrace", "SYS_PTRACE"}, s);
}

TEST_F(ProgramLookup, RandomisationThatCannotBeSwitchedOffIsAWarning) {
  Setting s;
  s.before = [] {
    sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 1),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{4, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(3);
  };
  const Outcome o = run_launched({"true"}, s);
  EXPECT_EQ(o.wait_status, 0);
  ASSERT_EQ(o.warnings.size(), 1u);
  EXPECT_NE(o.warnings[0].find("randomisation"), std::string::npos);
}

TEST_F(ProgramLookup, BadOptions) {
  LaunchOptions options;
  options.command = {"true"};
  options.ring_chunk_bytes = 10000;
  EXPECT_EQ(run_launched(options).refused_status, 2);
  options.ring_chunk_bytes = 1 << 20;
  options.ring_bytes = 1 << 20;
  EXPECT_EQ(run_launched(options).refused_status, 2);
  options.ring_chunk_bytes = 32 << 20;
  options.ring_bytes = 256 << 20;   // for 4096 threads: a terabyte
  EXPECT_EQ(run_launched(options).refused_status, 2);
  options.ring_chunk_bytes = 1 << 20;
  options.ring_bytes = 4 << 20;
  EXPECT_EQ(run_launched(options).refused, "");
  options.engine_path = "/no/such/engine";
  EXPECT_EQ(run_launched(options).refused_status, 1);
}

}  // namespace
}  // namespace simrun::host
