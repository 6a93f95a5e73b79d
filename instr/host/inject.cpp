#include "instr/host/inject.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/user_error.h"
#include "instr/host/lent_files.h"
#include "instr/host/resource_limits.h"
#include "instr/host/shared_mapping.h"

namespace simrun::host {
namespace {

// What the engine may need beside the shared mapping and the code cache: libraries, translation tables, thread stacks.
constexpr uint64_t kEngineAllowanceBytes = 2ull << 30;

void record_start(border::ProcessHeader& h, const RemoteProcess& process, const Blanket& blanket, const border::AddressRange& stack,
                  const LimitsBefore& limits, uint32_t added_personality) {
  h.simulator_pid = getpid();
  h.app_pc = process.initial_registers().rip;
  h.app_sp = process.initial_registers().rsp;
  h.app_flags = process.initial_registers().eflags;
  h.added_personality = added_personality;
  h.blanket_base = blanket.main.base;
  h.blanket_bytes = blanket.main.bytes;
  for (size_t i = 0; i < blanket.gaps.size(); ++i) h.blanket_gaps[i] = blanket.gaps[i];
  h.engine_stack_base = stack.base;
  h.engine_stack_bytes = stack.bytes;
  h.app_limit_address_space[0] = limits.address_space.rlim_cur;
  h.app_limit_address_space[1] = limits.address_space.rlim_max;
  h.app_limit_data[0] = limits.data.rlim_cur;
  h.app_limit_data[1] = limits.data.rlim_max;
}

// Where the engine looks for what is the application's: in rings that no thread has yet.
void record_mappings(const LocalMapping& mapping, const std::vector<border::AddressRange>& ranges) {
  border::ProcessHeader& h = mapping.header();
  const uint64_t room = h.instructions_offset - h.rings_offset;
  h.app_mappings_offset = h.rings_offset + room / 2;
  if (ranges.size() * sizeof ranges[0] > room / 2) throw UserError("the program has too many mappings for rings so small: use a larger --ring-size");
  h.app_mappings = static_cast<uint32_t>(ranges.size());
  std::memcpy(static_cast<char*>(mapping.address()) + h.app_mappings_offset, ranges.data(), ranges.size() * sizeof ranges[0]);
}

}  // namespace

void check_proc() {
  constexpr const char* kAdvice = "mount -t proc proc /proc";
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self", error);
  if (error) throw UserError(fmt::format("/proc/self: {}: simrun needs /proc ({})", error.message(), kAdvice));
  if (self != std::to_string(getpid())) throw UserError(fmt::format("/proc is that of another PID namespace: {} (unshare --mount-proc)", kAdvice));
}

std::string find_engine(const std::string& asked) {
  if (!asked.empty()) {
    if (access(asked.c_str(), R_OK) == 0) return asked;
    throw UserError(fmt::format("engine {}: cannot be read", asked));
  }
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self);
  if (n < 0)
    throw UserError(fmt::format("/proc/self/exe: {}: simrun needs /proc (mount -t proc proc /proc)", std::strerror(errno)));
  const std::string path(self, n > 0 ? static_cast<size_t>(n) : 0);
  const std::string folder = path.substr(0, path.rfind('/'));
  for (const char* place : {"/simrun-engine", "/../lib/simrun/simrun-engine"}) {
    std::string candidate = folder + place;
    if (access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  throw UserError(fmt::format("simrun-engine is neither in {0} nor in {0}/../lib/simrun; is simrun installed completely?", folder));
}

LimitsBefore make_room_in(pid_t pid, const LaunchOptions& options) {
  const uint64_t own = kEngineAllowanceBytes + kEngineStackBytes;
  check_room_for_file(pid, options.code_cache_bytes);
  const rlimit address_space = make_room(pid, RLIMIT_AS, own + mapping_bytes(options) + 2 * options.code_cache_bytes);
  try {
    return {address_space, make_room(pid, RLIMIT_DATA, own)};
  } catch (...) {
    prlimit(pid, RLIMIT_AS, &address_space, nullptr);
    throw;
  }
}

Injected inject(RemoteProcess& process, const LaunchOptions& options, const std::string& engine, const LimitsBefore& limits,
                Blanket* blanket, uint32_t added_personality) {
  const std::vector<border::AddressRange> mapped = mapped_ranges(process.pid());
  if (blanket != nullptr) *blanket = cover_mmap_area(process);
  const border::AddressRange stack = map_engine_stack(process);
  LocalMapping mapping = create_shared_mapping(process, options, stack.base);
  record_start(mapping.header(), process, blanket == nullptr ? Blanket{} : *blanket, stack, limits, added_personality);
  record_mappings(mapping, mapped);
  const EntryPoint entry = prepare_engine(process, engine, mapping.header().target_base, stack);
  return {std::move(mapping), entry};
}

void start_engine(RemoteProcess& process, const Injected& injected, bool block_signals) {
  process.prepare_start(injected.entry.pc, injected.entry.sp, block_signals);
  if (injected.entry.lends_files) lend_files(process, injected.mapping.header(), injected.mapping.header().engine_stack_base);
  process.detach();
}

}  // namespace simrun::host
