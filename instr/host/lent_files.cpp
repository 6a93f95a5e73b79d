#include "instr/host/lent_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/user_error.h"
#include "instr/host/file_descriptor.h"

namespace simrun::host {
namespace {

constexpr char kName[] = "simrun";   // of the memory files
constexpr uint64_t kNoCall = ~0ull;  // orig_rax: the kernel is to do nothing

std::string descriptor_path(const RemoteProcess& process, uint64_t descriptor) { return fmt::format("/proc/{}/fd/{}", process.pid(), descriptor); }

bool copy(int from, int to) {
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n <= 0) return n == 0;
    for (ssize_t done = 0; done < n;) {
      const ssize_t m = write(to, buffer + done, static_cast<size_t>(n - done));
      if (m <= 0) return false;
      done += m;
    }
  }
}

bool fill(const RemoteProcess& process, uint64_t descriptor, const FileDescriptor& from) {
  const FileDescriptor to(open(descriptor_path(process, descriptor).c_str(), O_WRONLY | O_CLOEXEC));
  return to && copy(from.get(), to.get());
}

// The file here that the process means.
std::string path_here(const RemoteProcess& process, const std::string& path) {
  for (const std::string_view own : {"/proc/self/", "/proc/thread-self/"})
    if (path.starts_with(own)) return fmt::format("/proc/{}/{}", process.pid(), path.substr(own.size()));
  return path;
}

// At the beginning of a call: at its end it has this result, whatever the kernel would have said.
void answer(RemoteProcess& process, user_regs_struct r, int64_t result) {
  const uint64_t number = r.orig_rax;
  r.orig_rax = kNoCall;
  process.set_registers(r);
  process.run_to_call_boundary();
  r.rax = static_cast<uint64_t>(result);
  r.orig_rax = number;
  process.set_registers(r);
}

void answer_open(RemoteProcess& process, const user_regs_struct& asked, const std::string& path, uint64_t scratch) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return answer(process, asked, -errno);
  process.write(scratch, kName, sizeof kName);
  user_regs_struct r = asked;
  r.orig_rax = SYS_memfd_create;
  r.rdi = scratch, r.rsi = MFD_CLOEXEC;
  process.set_registers(r);
  process.run_to_call_boundary();
  r = asked;
  r.rax = process.registers().rax;
  if (static_cast<int64_t>(r.rax) >= 0 && !fill(process, r.rax, file)) r.rax = static_cast<uint64_t>(-EIO);
  process.set_registers(r);
}

void answer_stat(RemoteProcess& process, const user_regs_struct& asked, const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return answer(process, asked, -errno);
  process.write(asked.rdx, &facts, sizeof facts);
  answer(process, asked, 0);
}

}  // namespace

int64_t open_same(RemoteProcess& process, const std::string& path, uint64_t scratch) {
  process.write(scratch, path.c_str(), path.size() + 1);
  const int64_t descriptor = process.call(SYS_openat, {static_cast<uint64_t>(AT_FDCWD), scratch, O_RDONLY | O_CLOEXEC, 0});
  if (descriptor < 0) return descriptor;
  struct stat here, there;
  if (stat(path.c_str(), &here) == 0 && stat(descriptor_path(process, static_cast<uint64_t>(descriptor)).c_str(), &there) == 0 &&
      here.st_dev == there.st_dev && here.st_ino == there.st_ino)
    return descriptor;
  process.call(SYS_close, {static_cast<uint64_t>(descriptor)});
  return -ENOENT;
}

uint64_t lend_file(RemoteProcess& process, const std::string& path, uint64_t scratch) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw UserError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  process.write(scratch, kName, sizeof kName);
  const uint64_t descriptor = process.must_call("make a memory file", SYS_memfd_create, {scratch, MFD_CLOEXEC});
  if (!fill(process, descriptor, file)) throw UserError(fmt::format("cannot copy {} for process {}: {}", path, process.pid(), std::strerror(errno)));
  return descriptor;
}

void lend_files(RemoteProcess& process, const border::ProcessHeader& header, uint64_t scratch) {
  for (;;) {
    process.run_to_call_boundary();   // a call begins
    if (header.engine_state.load(std::memory_order_acquire) != 0) return;
    const user_regs_struct r = process.registers();
    const bool by_path = r.orig_rax == SYS_openat || r.orig_rax == SYS_newfstatat;
    const std::string path = by_path ? process.read_string(r.rsi) : r.orig_rax == SYS_access ? process.read_string(r.rdi) : "";
    if (!path.starts_with('/')) {
      process.run_to_call_boundary();
      continue;
    }
    const std::string here = path_here(process, path);
    if (r.orig_rax == SYS_openat)
      answer_open(process, r, here, scratch);
    else if (r.orig_rax == SYS_newfstatat)
      answer_stat(process, r, here);
    else
      answer(process, r, access(here.c_str(), static_cast<int>(r.rsi)) == 0 ? 0 : -errno);
  }
}

}  // namespace simrun::host
