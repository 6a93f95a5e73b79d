#include "instr/host/address_area.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>

#include "base/user_error.h"
#include "instr/host/mapped_files.h"

namespace simrun::host {
namespace {

using border::AddressRange;

constexpr uint64_t kPage = 4096;
// Far more than an ordinary program maps, far less than the 128 TiB there are. Beyond it the program's mappings continue below the
// engine's, which costs it nothing but the sameness of addresses with a native run.
constexpr uint64_t kBlanketBytes = 1ull << 40;
constexpr uint64_t kReservation = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// The hole between mappings that contains `address`.
AddressRange hole_around(const std::vector<MapsEntry>& mappings, uint64_t address) {
  uint64_t low = 0, high = 1ull << 47;
  for (const MapsEntry& m : mappings) {
    if (m.end <= address) low = std::max(low, m.end);
    if (m.start > address) high = std::min(high, m.start);
  }
  return {low, high - low};
}

// What the kernel would use next. Occupied and given back, so that the address is the kernel's own choice.
int64_t next_mmap(RemoteProcess& process) {
  const int64_t at = process.call(SYS_mmap, {0, kPage, PROT_NONE, kReservation, ~0ull, 0});
  if (at > 0) process.call(SYS_munmap, {static_cast<uint64_t>(at), kPage});
  return at;
}

// The area grows down from the top of the hole, or up in the legacy layout (ADDR_COMPAT_LAYOUT, unlimited stack on some kernels), where the
// first address served need not be the bottom of the hole (mmap_base).
AddressRange part_to_cover(const AddressRange& hole, uint64_t served) {
  const uint64_t end = hole.base + hole.bytes;
  const bool downward = served + kPage == end || end - served < served - hole.base;
  if (!downward) return {served, std::min(kBlanketBytes, end - served)};
  const uint64_t top = served + kPage;  // mmap_base may lie below the end of the hole
  const uint64_t bytes = std::min(kBlanketBytes, top - hole.base);
  return {top - bytes, bytes};
}

}  // namespace

Blanket cover_mmap_area(RemoteProcess& process) {
  Blanket blanket{};
  while (blanket.gaps.size() < border::kMaxBlanketGaps) {
    const int64_t served = next_mmap(process);
    if (served <= 0) break;
    const AddressRange part = part_to_cover(hole_around(read_process_maps(process.pid()), static_cast<uint64_t>(served)),
                                            static_cast<uint64_t>(served));
    const int64_t at =
        process.call(SYS_mmap, {part.base, part.bytes, PROT_NONE, kReservation | MAP_FIXED_NOREPLACE, ~0ull, 0});
    if (at != static_cast<int64_t>(part.base)) break;
    if (part.bytes == kBlanketBytes) {
      blanket.main = part;
      break;
    }
    blanket.gaps.push_back(part);
  }
  return blanket;
}

std::vector<AddressRange> mapped_ranges(pid_t pid) {
  std::vector<AddressRange> joined;
  for (const MapsEntry& m : read_process_maps(pid)) {
    if (!joined.empty() && joined.back().base + joined.back().bytes == m.start)
      joined.back().bytes += m.end - m.start;
    else
      joined.push_back({m.start, m.end - m.start});
  }
  return joined;
}

void uncover(RemoteProcess& process, const Blanket& blanket) {
  try {
    if (blanket.main.bytes != 0) process.call(SYS_munmap, {blanket.main.base, blanket.main.bytes});
    for (const AddressRange& gap : blanket.gaps) process.call(SYS_munmap, {gap.base, gap.bytes});
  } catch (const UserError&) {
    return;  // it is gone
  }
}

}  // namespace simrun::host
