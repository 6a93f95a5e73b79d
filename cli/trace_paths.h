// The paths of a recorded process, as the loops over paths of live runs know them (channel/replay.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "instr/channel/decoded_paths.h"
#include "traces/descriptor_table.h"

namespace simrun::cli {

class TracePaths final : public channel::DecodedPaths {
 public:
  // `table`, which must outlive this, is complete. `line_bytes`: of an instruction line.
  TracePaths(const traces::DescriptorTable& table, uint32_t line_bytes) : DecodedPaths(table.paths(), line_bytes), table_(table) {}

  // 0 for a path that saves or restores extended state: the areas are those of the recording machine, and only a
  // traces::Replay knows them.
  uint32_t decode_length(uint64_t word) override;

 private:
  const traces::DescriptorTable& table_;
};

}  // namespace simrun::cli
