#include "instr/host/resource_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "base/user_error.h"

namespace simrun::host {
namespace {

const char* shell_name(__rlimit_resource resource) {
  return resource == RLIMIT_AS ? "address space, ulimit -v" : "data size, ulimit -d";
}

constexpr uint64_t mebibytes(uint64_t bytes) { return bytes >> 20; }

// As the kernel prints it for everybody.
rlimit printed_limit(pid_t pid, __rlimit_resource resource) {
  const std::string name = resource == RLIMIT_AS ? "Max address space" : resource == RLIMIT_FSIZE ? "Max file size" : "Max data size";
  std::ifstream limits(fmt::format("/proc/{}/limits", pid));
  for (std::string line; std::getline(limits, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream rest(line.substr(name.size()));
    std::string soft, hard;
    rest >> soft >> hard;
    const auto number = [](const std::string& s) { return s == "unlimited" ? RLIM_INFINITY : std::strtoull(s.c_str(), nullptr, 10); };
    return {number(soft), number(hard)};
  }
  throw UserError(fmt::format("the limits of process {} cannot be read", pid));
}

// The kernel lets prlimit look at another user's process only with CAP_SYS_RESOURCE, which root does not have in most containers.
rlimit limit_of(pid_t pid, __rlimit_resource resource) {
  rlimit limit{};
  if (prlimit(pid, resource, nullptr, &limit) == 0) return limit;
  if (errno == EPERM) return printed_limit(pid, resource);
  throw UserError(fmt::format("prlimit: {}", std::strerror(errno)));
}

}  // namespace

rlimit make_room(pid_t pid, __rlimit_resource resource, uint64_t bytes) {
  const rlimit before = limit_of(pid, resource);
  if (before.rlim_cur == RLIM_INFINITY) return before;
  rlimit raised = before;
  raised.rlim_cur = before.rlim_cur + bytes;
  if (raised.rlim_max < raised.rlim_cur) raised.rlim_max = raised.rlim_cur;
  if (prlimit(pid, resource, &raised, nullptr) == 0) return before;
  throw UserError(fmt::format("a limit leaves no room for the engine ({}: {} MiB, {} MiB more are needed, hardly any of which is ever "
                              "used): raise the hard limit",
                              shell_name(resource), mebibytes(before.rlim_cur), mebibytes(bytes)));
}

void check_room_for_file(pid_t pid, uint64_t bytes) {
  const rlimit limit = limit_of(pid, RLIMIT_FSIZE), raised{limit.rlim_cur, bytes};
  if (limit.rlim_max >= bytes) return;
  if (prlimit(pid, RLIMIT_FSIZE, &raised, nullptr) != 0)
    throw UserError(fmt::format("the hard file-size limit ({} MiB, ulimit -f) is below the {} MiB of the code cache, which is a file in memory", mebibytes(limit.rlim_max), mebibytes(bytes)));
  prlimit(pid, RLIMIT_FSIZE, &limit, nullptr);
}

void take_room_back(pid_t pid, const border::ProcessHeader& left) {
  const auto give = [&](__rlimit_resource resource, const uint64_t* native, const uint64_t* app) {
    const rlimit now = limit_of(pid, resource), wanted{app[0], app[1]};
    if (now.rlim_cur == native[0] && now.rlim_max == native[1]) prlimit(pid, resource, &wanted, nullptr);
  };
  give(RLIMIT_AS, left.native_limit_address_space, left.app_limit_address_space);
  give(RLIMIT_DATA, left.native_limit_data, left.app_limit_data);
}

void set_size_beyond_limit(int descriptor, uint64_t bytes) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const bool limited = before.rlim_cur != RLIM_INFINITY && before.rlim_cur < bytes;
  if (limited) {
    rlimit raised = before;
    raised.rlim_cur = bytes;
    if (raised.rlim_max < bytes) raised.rlim_max = bytes;
    if (setrlimit(RLIMIT_FSIZE, &raised) != 0)
      throw UserError(fmt::format("the file-size limit ({} MiB, ulimit -f) is below the {} MiB of the shared mapping (hardly any of which "
                                  "is ever used): raise the hard limit",
                                  mebibytes(before.rlim_cur), mebibytes(bytes)));
  }
  const int error = ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (limited) setrlimit(RLIMIT_FSIZE, &before);
  if (error != 0) throw UserError(fmt::format("cannot make the shared mapping ({} MiB): {}", mebibytes(bytes), std::strerror(error)));
}

}  // namespace simrun::host
