// The machine to simulate, resolved: every value present, in bytes and counts. configs/ reads it from YAML; tests build
// it directly. configs/README.md documents the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simrun::sim {

inline constexpr uint32_t kMaxCores = 4096;

// docs/cache-model.md says what each does.
enum class Replacement : uint8_t {
  kLru,
  kTreePlru,
  kBitPlru,
  kFifo,
  kRandom,
  kNru,
  kSrrip,
  kBrrip,
  kDrrip,
  kShip,
  kLip,
  kBip,
  kDip
};
enum class Inclusion : uint8_t { kInclusive, kNonInclusive, kExclusive };  // with regard to the levels nearer the core
enum class WritePolicy : uint8_t { kWriteBack, kWriteThrough };
enum class WriteMiss : uint8_t { kAllocate, kNoAllocate };
enum class Coherence : uint8_t { kMesi, kMsi, kMoesi, kMesif, kNone };
enum class Requests : uint8_t { kDirectory, kSnooping };  // who is asked about a line: its holders, or all

enum class PrefetchKind : uint8_t { kNextLine, kStride, kStream };
enum class Addresses : uint8_t { kVirtual, kFirstTouch };  // first touch: pages get frames in the order of their use

struct PrefetchConfig {
  PrefetchKind kind = PrefetchKind::kNextLine;
  uint32_t degree = 1;    // lines asked for at a time
  uint32_t distance = 1;  // of the first of them, in lines or strides
  bool operator==(const PrefetchConfig&) const = default;
};

// One cache array. `size_bytes` = sets x ways x line bytes.
struct CacheShape {
  uint64_t size_bytes = 0;
  uint32_t ways = 0;
  uint32_t latency = 0;  // cycles from the request of the core to its data on a hit here; no effect on any count
  std::vector<PrefetchConfig> prefetch = {};
  bool operator==(const CacheShape&) const = default;
};

struct TlbShape {
  uint32_t entries = 0;  // 0: there is none
  uint32_t ways = 0;
  bool operator==(const TlbShape&) const = default;
};

// Of each core. Latencies in cycles, on top of the access itself; no effect on any count.
struct TlbConfig {
  TlbShape instruction, data, second;
  uint32_t second_latency = 0;  // of a hit there
  uint32_t walk_latency = 0;    // of a miss everywhere
  bool operator==(const TlbConfig&) const = default;
};

struct LevelConfig {
  std::string name;              // "L1"; the halves of a split level are reported as "L1I" and "L1D"
  uint32_t cores_per_cache = 1;  // 1: private; `cores`: one for the chip
  bool split = false;            // instruction and data halves instead of one unified array
  CacheShape unified;            // used when not split
  CacheShape instruction;        // used when split
  CacheShape data;               // used when split
  Replacement replacement = Replacement::kLru;
  Inclusion inclusion = Inclusion::kInclusive;
  WritePolicy write_policy = WritePolicy::kWriteBack;
  WriteMiss write_miss = WriteMiss::kAllocate;
  bool operator==(const LevelConfig&) const = default;
};

// The clock of a core: docs/cache-model.md, "Cycles". No effect on any count.
struct CoreConfig {
  double cpi = 1;  // cycles per instruction when level 1 answers every access
  // Shares of the latency of an access beyond level 1 for which the core stands still; 0 to 1.
  double fetch_exposed = 1, read_exposed = 1, write_exposed = 0;
  bool operator==(const CoreConfig&) const = default;
};

struct MachineConfig {
  std::string name;
  std::string description;
  uint32_t cores = 1;
  uint32_t line_bytes = 64;
  Coherence coherence = Coherence::kMesi;
  Requests requests = Requests::kDirectory;
  uint64_t page_bytes = 4096;
  Addresses addresses = Addresses::kVirtual;
  std::optional<TlbConfig> tlb;
  std::vector<LevelConfig> levels;  // from the core toward memory
  uint32_t memory_latency = 0;      // cycles from the request of the core; no effect on any count
  uint32_t transfer_latency = 0;    // cycles more when another cache hands the line over; no effect on any count
  CoreConfig core;
  bool operator==(const MachineConfig&) const = default;
};

}  // namespace simrun::sim
