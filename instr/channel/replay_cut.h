// A superblock that a fault cut short, turned into calls of a sink and into counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "instr/channel/path_table.h"
#include "instr/channel/replay.h"
#include "instr/channel/stream_error.h"

namespace simrun::channel {

template <class Sink>
void replay_started_string(const std::vector<border::OperandDescriptor>& operands, uint64_t iterations,
                           const std::vector<uint64_t>& words, uint64_t pc, ReplayState& thread, Sink& sink) {
  std::vector<const border::OperandDescriptor*> present;
  for (const auto& o : operands)
    if (o.word_a == border::kNoWord || o.word_a < words.size()) present.push_back(&o);
  if (present.empty()) return;
  const StringRun run = begun_string(*present[0], iterations);
  thread.statistics.string_iterations += run.iterations;
  expand_string(std::span<const border::OperandDescriptor* const>(present), run, words.data(), thread.bases,
                [&](border::OperandKind operand_kind, uint64_t address, uint32_t bytes) {
                  const ReferenceKind kind = to_reference_kind(operand_kind);
                  count_reference(thread.statistics, kind);
                  put_data(sink, thread.handle, kind, address, bytes, pc);
                });
}

// `payload` of border::Event::kCut, at least three words: the path, the instructions that retired, iterations of the
// string instruction that was next (negative: downwards), address words. Returns the instructions. Throws StreamError.
template <class Sink>
uint64_t replay_cut(const PathTable& paths, std::span<const uint64_t> payload, ReplayState& thread, Sink& sink) {
  std::vector<uint64_t> words{payload[0]};
  words.insert(words.end(), payload.begin() + 3, payload.end());
  std::vector<border::OperandDescriptor> strings;
  const OwnedPath cut = paths.decode_prefix(payload[0], payload[1], words.size() - 1, &strings);
  ++thread.statistics.cuts;
  uint64_t instructions = 0;
  if (cut.path.reference_count != 0) {
    replay(cut.path, words.data(), thread, sink);
    instructions = cut.path.instructions;
  }
  if (payload[2] != 0 && !strings.empty())
    replay_started_string(strings, payload[2], words, cut.next_pc, thread, sink);
  return instructions;
}

}  // namespace simrun::channel
