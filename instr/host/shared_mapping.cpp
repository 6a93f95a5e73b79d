#include "instr/host/shared_mapping.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/memfd.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/user_error.h"
#include "instr/border/address_areas.h"
#include "instr/host/file_descriptor.h"
#include "instr/host/resource_limits.h"

namespace simrun::host {
namespace {

using namespace border;

constexpr uint64_t kPage = 4096;
constexpr uint32_t kMinChunkBytes = 8192;  // a chunk must hold the largest path twice (kMaxSuperblockWords)
static_assert(kMinChunkBytes >= 2 * 8 * kMaxSuperblockWords);
constexpr uint32_t kMaxChunkBytes = 1u << 30;

// For each superblock that is described, more than most programs have.
constexpr uint32_t kInstructions = 8, kOperands = 4, kPaths = 2, kCodeBytes = 6 * kInstructions;

// Segment bases are read and written without a system call (arch/x86/kernel/cpu/common.c sets this bit; Linux 5.9).
bool kernel_has_base_instructions() {
  constexpr unsigned long kFsGsBase = 1ul << 1;   // HWCAP2_FSGSBASE
  return (getauxval(AT_HWCAP2) & kFsGsBase) != 0;
}

void check_options(const LaunchOptions& o) {
  if (!std::has_single_bit(o.ring_chunk_bytes) || o.ring_chunk_bytes < kMinChunkBytes || o.ring_chunk_bytes > kMaxChunkBytes)
    throw UserError(fmt::format("ring chunk of {} bytes: must be a power of two from {} to {}", o.ring_chunk_bytes, kMinChunkBytes,
                                kMaxChunkBytes), 2);
  const uint64_t chunks = o.ring_bytes / o.ring_chunk_bytes;
  if (o.ring_bytes % o.ring_chunk_bytes != 0 || chunks < 2 || chunks > kMaxRingChunks)
    throw UserError(fmt::format("ring of {} bytes: must be 2 to {} chunks of {} bytes", o.ring_bytes, kMaxRingChunks, o.ring_chunk_bytes), 2);
  if (o.mode != Mode::kCount && (o.count_interval != 0 || (o.count_paths && o.mode_switches.empty())))
    throw UserError("intervals and path counts go with count mode, or with switches to it", 2);
  if (o.mode_switches.size() > kMaxModeSwitches)
    throw UserError(fmt::format("{} switches of mode, more than {}", o.mode_switches.size(), kMaxModeSwitches), 2);
  if (o.described_superblocks < kFewestDescribed || o.described_superblocks > kMostDescribed)
    throw UserError(fmt::format("{} descriptions of superblocks: must be {} to {}", o.described_superblocks, kFewestDescribed, kMostDescribed), 2);
  if (o.max_superblock_instructions == 0) throw UserError("a superblock must have at least one instruction", 2);
}

// Hands out page-aligned regions one after the other.
class Layout {
 public:
  uint64_t take(uint64_t bytes) {
    const uint64_t at = end_;
    end_ = (end_ + bytes + kPage - 1) & ~(kPage - 1);
    return at;
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;
};

}  // namespace

void lay_out(ProcessHeader& h, const LaunchOptions& o) {
  check_options(o);
  h.magic = kMagic;
  h.version = kVersion;
  h.header_bytes = sizeof(ProcessHeader);
  h.mode = o.mode;
  h.ring_chunk_bytes = o.ring_chunk_bytes;
  h.ring_chunks = static_cast<uint32_t>(o.ring_bytes / o.ring_chunk_bytes);
  h.drops_streams = o.drop_streams;
  h.max_superblock_instructions = o.max_superblock_instructions;
  h.link_superblocks = o.link_superblocks;
  h.elide_words = o.elide_words;
  h.unroll_loops = o.unroll_loops;
  h.live_words = o.live_words;
  h.base_instructions = o.base_instructions && kernel_has_base_instructions();
  h.force_safe_points = o.force_safe_points;
  h.protect_code_after = o.protect_code_after;
  h.watch_calls = o.watch_calls ? 1 : o.watch_mappings ? 2 : o.name_memory ? 3 : 0;
  h.code_cache_bytes = o.code_cache_bytes;
  h.count_interval = o.count_interval;
  h.count_done = o.count_done;
  h.count_interval_threads = o.count_interval_threads;
  h.count_paths = o.count_paths;
  h.mode_switches = static_cast<uint32_t>(o.mode_switches.size());
  h.follow_children = !o.follow_children.empty();
  h.has_company = o.has_company;

  Layout layout;
  layout.take(sizeof(ProcessHeader));
  h.slot_bytes = kSlotStride + (o.count_paths ? kCounterBytes : 0);
  h.slots_offset = layout.take(h.slot_bytes * kMaxThreads);
  h.stages_offset = layout.take(uint64_t{o.ring_chunk_bytes} * kMaxThreads);
  h.hand_overs_offset = layout.take(sizeof(HandOver) * uint64_t{kHandOvers} * kMaxThreads);
  h.rings_offset = layout.take(o.ring_bytes * kMaxThreads);
  h.superblock_capacity = o.described_superblocks;
  h.instruction_capacity = kInstructions * h.superblock_capacity;
  h.instructions_offset = layout.take(sizeof(InstructionDescriptor) * uint64_t{h.instruction_capacity});
  h.operand_capacity = kOperands * h.superblock_capacity;
  h.operands_offset = layout.take(sizeof(OperandDescriptor) * uint64_t{h.operand_capacity});
  h.superblocks_offset = layout.take(sizeof(SuperblockDescriptor) * uint64_t{h.superblock_capacity});
  h.path_capacity = std::min(kPaths * h.superblock_capacity, o.count_paths ? kMaxCountedPaths : ~0u);
  h.paths_offset = layout.take(sizeof(PathDescriptor) * uint64_t{h.path_capacity});
  h.code_capacity = kCodeBytes * h.superblock_capacity;
  h.code_offset = layout.take(h.code_capacity);
  h.mode_switches_offset = layout.take(sizeof(ModeSwitch) * kMaxModeSwitches);
  if (o.keep_log) h.log_offset = layout.take(sizeof(LogEntry) * uint64_t{kLogEntries});
  if (o.map_code) h.code_map_offset = layout.take(sizeof(CodeMapEntry) * uint64_t{kCodeMapEntries});
  h.mapping_bytes = layout.end();
  static_assert(kCodeCacheArea > kSharedAreas[0]);
  if (h.mapping_bytes > kCodeCacheArea - kSharedAreas[0])
    throw UserError(fmt::format("rings of {} bytes for {} threads leave no room in the address space", o.ring_bytes, kMaxThreads), 2);
}

uint64_t mapping_bytes(const LaunchOptions& options) {
  ProcessHeader header{};
  lay_out(header, options);
  return header.mapping_bytes;
}

LocalMapping::~LocalMapping() {
  if (address_) munmap(address_, bytes_);
}

namespace {

// The file is created in the target and opened here through /proc: so it needs no descriptor that survives an exec, and none of the
// target's numbers below the one that is in use for a moment.
uint64_t create_file(RemoteProcess& process, uint64_t scratch) {
  static constexpr char kName[] = "simrun";
  process.write(scratch, kName, sizeof kName);
  return process.must_call("make the shared mapping", SYS_memfd_create, {scratch, MFD_CLOEXEC});
}

void* map_here(int descriptor, uint64_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (at != MAP_FAILED) return at;
  throw UserError(fmt::format("cannot map the shared memory ({} MiB of addresses, hardly any of which is ever used): {} (see ulimit -v)",
                              bytes >> 20, std::strerror(errno)));
}

uint64_t map_there(RemoteProcess& process, uint64_t descriptor, uint64_t bytes) {
  constexpr uint64_t kFlags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  int64_t result = 0;
  for (const uint64_t base : kSharedAreas) {
    result = process.call(SYS_mmap, {base, bytes, PROT_READ | PROT_WRITE, kFlags, descriptor, 0});
    if (result == static_cast<int64_t>(base)) {
      process.call(SYS_madvise, {base, bytes, MADV_DONTDUMP});  // a core file of the program is the program's
      return base;
    }
    // Kernels before 4.17 take the address as a hint.
    if (result > 0) process.call(SYS_munmap, {static_cast<uint64_t>(result), bytes});
    if (result != -EEXIST && result < 0) break;
  }
  throw UserError(fmt::format("cannot map the shared memory ({} MiB of addresses) into the program: {}", bytes >> 20,
                              result < 0 ? std::strerror(static_cast<int>(-result)) : "its place is taken"));
}

}  // namespace

LocalMapping map_file(FileDescriptor file) {
  struct stat s {};
  if (fstat(file.get(), &s) != 0) throw UserError(fmt::format("the shared memory has no size: {}", std::strerror(errno)));
  const auto bytes = static_cast<uint64_t>(s.st_size);
  make_room(0, RLIMIT_AS, bytes);
  void* const here = map_here(file.get(), bytes);
  return LocalMapping(here, bytes, std::move(file));
}

LocalMapping create_shared_mapping(RemoteProcess& process, const LaunchOptions& options, uint64_t scratch) {
  const uint64_t bytes = mapping_bytes(options);
  const uint64_t remote = create_file(process, scratch);
  const std::string link = fmt::format("/proc/{}/fd/{}", process.pid(), remote);
  FileDescriptor file(open(link.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) throw UserError(fmt::format("cannot open {}: {}", link, std::strerror(errno)));
  set_size_beyond_limit(file.get(), bytes);
  LocalMapping mapping = map_file(std::move(file));
  ProcessHeader* const header = new (mapping.address()) ProcessHeader{};
  lay_out(*header, options);
  std::copy(options.mode_switches.begin(), options.mode_switches.end(),
            reinterpret_cast<ModeSwitch*>(static_cast<char*>(mapping.address()) + header->mode_switches_offset));
  header->target_base = map_there(process, remote, bytes);
  process.must_call("close a descriptor", SYS_close, {remote});
  return mapping;
}

}  // namespace simrun::host
