#include "base/process_maps.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/user_error.h"
#include "instr/host/mapped_files.h"

namespace simrun::host {
namespace {

std::vector<MapsEntry> parsed(const std::string& text) {
  std::vector<MapsEntry> entries;
  EXPECT_TRUE(parse_process_maps(text, &entries)) << text;
  return entries;
}

// As fs/proc/task_mmu.c writes it: the path begins in a column, and a line without one ends with a space.
std::string line_of(const std::string& front, const std::string& path) {
  return path.empty() ? front + " \n" : fmt::format("{:<72} {}\n", front, path);
}

TEST(ProcessMaps, HaveAllThatALineSays) {
  const std::vector<MapsEntry> entries =
      parsed(line_of("5602fc254000-5602fc259000 r-xp 00002000 fe:1f 247134", "/usr/bin/cat") + line_of("7ff0000-7ff1000 rw-s 00000000 00:00 0", ""));
  ASSERT_EQ(entries.size(), 2u);
  const MapsEntry& e = entries[0];
  EXPECT_EQ(e.start, 0x5602fc254000u);
  EXPECT_EQ(e.end, 0x5602fc259000u);
  EXPECT_EQ(e.offset, 0x2000u);
  EXPECT_TRUE(e.readable && !e.writable && e.executable && !e.shared);
  EXPECT_EQ(e.major, 0xfeu);
  EXPECT_EQ(e.minor, 0x1fu);
  EXPECT_EQ(e.inode, 247134u);
  EXPECT_EQ(e.path, "/usr/bin/cat");
  EXPECT_TRUE(entries[1].readable && entries[1].writable && !entries[1].executable && entries[1].shared);
  EXPECT_EQ(entries[1].path, "");
}

TEST(ProcessMaps, HavePathsAsTheKernelWritesThem) {
  for (const char* path : {"/tmp/a b  c", "/tmp/a (deleted)", "/tmp/two\\012lines", "[stack]", "[anon:a name]", "/memfd:simrun-code-cache (deleted)", "//anon"}) {
    const std::vector<MapsEntry> entries = parsed(line_of("1000-2000 ---p 00000000 00:01 12", path));
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].path, path);
  }
}

TEST(ProcessMaps, ReachTheEndOfTheAddressSpace) {
  const std::vector<MapsEntry> entries = parsed(line_of("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0", "[vsyscall]"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].start, 0xffffffffff600000u);
  EXPECT_EQ(entries[0].end, 0xffffffffff601000u);
  EXPECT_TRUE(entries[0].executable);
}

TEST(ProcessMaps, AreAllOrNone) {
  const std::string whole = line_of("1000-2000 rw-p 00000000 00:00 0", "") + line_of("3000-4000 r--p 00001000 fe:00 7", "/bin/true");
  std::vector<MapsEntry> entries;
  for (size_t length = 1; length < whole.size(); ++length) {
    const bool ends_with_a_line = whole[length - 1] == '\n';
    EXPECT_EQ(parse_process_maps(std::string_view(whole).substr(0, length), &entries), ends_with_a_line) << length;
    EXPECT_EQ(entries.size(), ends_with_a_line ? 1u : 0u) << length;
  }
  EXPECT_TRUE(parse_process_maps(whole, &entries));
  EXPECT_EQ(entries.size(), 2u);
  for (const char* wrong : {"\n", "Name:\tcat\n", "1000 2000 rw-p 0 00:00 0 \n", "1000-2000 rw-p 0 00:00 x \n", "11111111111111111-2 rw-p 0 00:00 0 \n"}) {
    EXPECT_FALSE(parse_process_maps(wrong, &entries)) << wrong;
    EXPECT_TRUE(entries.empty());
  }
}

TEST(ProcessMaps, OfThisProcessShowAMapping) {
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const std::vector<MapsEntry> entries = read_process_maps(getpid());
  const auto address = reinterpret_cast<uint64_t>(page);
  EXPECT_TRUE(std::any_of(entries.begin(), entries.end(),
                          [&](const MapsEntry& e) { return e.start <= address && address < e.end && e.readable && !e.writable && e.shared; }));
  EXPECT_TRUE(std::any_of(entries.begin(), entries.end(), [&](const MapsEntry& e) { return e.path == "[stack]"; }));
  munmap(page, 4096);
}

TEST(ProcessMaps, ThatCannotBeReadAreAnError) {
  std::vector<MapsEntry> entries(1);
  EXPECT_EQ(read_maps_file("/proc/self/no-such-file", &entries), ENOENT);
  EXPECT_TRUE(entries.empty());
  EXPECT_EQ(read_maps_file("/proc/self", &entries), EISDIR);   // opens, and cannot be read
  EXPECT_EQ(read_maps_file("/proc/self/status", &entries), EBADMSG);
  EXPECT_EQ(read_maps_file("/dev/null", &entries), ESRCH);
}

std::string error_of(pid_t pid) {
  try {
    mapped_files(pid);
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

TEST(ProcessMaps, OfAProcessThatEndedAreAnError) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(error_of(child), fmt::format("cannot read /proc/{}/maps: the process has ended", child));   // a zombie: the file is empty
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(error_of(child), fmt::format("cannot read /proc/{}/maps: No such file or directory", child));
}

}  // namespace
}  // namespace simrun::host
