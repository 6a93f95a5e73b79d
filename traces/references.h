// From descriptions and words to references, as docs/trace-format.md defines them under "Operands". Everything was checked
// when the descriptions were read: nothing here can read beyond its words.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/tile_configuration.h"
#include "traces/record.h"
#include "traces/trace_error.h"

namespace simrun::traces {

struct SegmentBases {
  uint64_t fs = 0, gs = 0;
};

// Where the recording machine's processor puts the components of an xsave area (standard format).
struct XsaveComponent {
  uint32_t number, offset, bytes;
};

// Bytes of one repeated string instruction beyond which the words are taken for garbage.
inline constexpr uint64_t kMaxStringBytes = uint64_t{1} << 42;
inline constexpr uint32_t kXsaveLegacyAndHeaderBytes = 576;

inline uint64_t word_or_zero(const uint64_t* words, uint16_t index) { return index == kNoWord ? 0 : words[index]; }

// Effective address at `offset` from the operand's base, truncated if the instruction says so, plus the segment's base.
inline uint64_t address_at(const Operand& o, const uint64_t* words, const SegmentBases& bases, uint64_t offset) {
  const uint64_t effective = word_or_zero(words, o.word_a) + static_cast<uint64_t>(o.disp) + offset;
  const uint64_t segment = (o.flags & kFsBase) != 0 ? bases.fs : (o.flags & kGsBase) != 0 ? bases.gs : 0;
  return ((o.flags & kAddress32) != 0 ? effective & 0xffffffff : effective) + segment;
}

inline uint64_t plain_offset(const Operand& o, const uint64_t* words) {
  const uint64_t index = word_or_zero(words, o.word_b);
  if (o.modifier == OperandModifier::kByteIndex) return index & 0xff;
  uint64_t offset = index << o.shift;
  if (o.modifier == OperandModifier::kBitOffset) {
    const int unused = 64 - static_cast<int>(8 * o.size);
    const int64_t bits = static_cast<int64_t>(words[o.word_c] << unused) >> unused;
    offset += static_cast<uint64_t>((bits >> (std::countr_zero(o.size) + 3)) * static_cast<int64_t>(o.size));
  }
  return offset;
}

// The iterations of a repeated string instruction and the distance between two of them.
struct StringRun {
  uint64_t iterations;
  int64_t step;
};

inline StringRun string_run(const Operand& o, const uint64_t* words) {
  auto moved = static_cast<int64_t>(words[o.word_c] - words[o.word_b]);
  if ((o.flags & kAddress32) != 0) moved = static_cast<int32_t>(moved);
  const uint64_t bytes = moved < 0 ? 0 - static_cast<uint64_t>(moved) : static_cast<uint64_t>(moved);
  if (bytes > kMaxStringBytes) throw FormatError("a repeated string instruction of more than 4 TiB");
  const auto size = static_cast<int64_t>(o.size);
  return {bytes / o.size, moved < 0 ? -size : size};
}

// The same of one that a fault interrupted, of which an event says how many iterations it had done (negative: downwards).
inline StringRun begun_string(const Operand& o, uint64_t iterations) {
  const auto signed_count = static_cast<int64_t>(iterations);
  const uint64_t count = signed_count < 0 ? 0 - iterations : iterations;
  if (count > kMaxStringBytes / o.size) throw FormatError("a cut string instruction of more than 4 TiB");
  return {count, signed_count < 0 ? -static_cast<int64_t>(o.size) : static_cast<int64_t>(o.size)};
}

// Bit i: lane i is active.
inline uint64_t lane_mask(const Operand& o, const uint64_t* words) {
  const uint64_t all = o.lanes >= 64 ? ~uint64_t{0} : (uint64_t{1} << o.lanes) - 1;
  if (o.mask_lane == 0) return words[o.word_c] & all;
  const auto* bytes = reinterpret_cast<const unsigned char*>(words + o.word_c);
  uint64_t mask = 0;
  for (uint32_t lane = 0; lane < o.lanes; ++lane) mask |= uint64_t{bytes[(lane + 1) * o.mask_lane - 1]} >> 7 << lane;
  return mask;
}

// Whether operands[k] and [k + 1] are the two of a repeated movs or cmps, whose references alternate.
inline bool is_string_pair(std::span<const Operand> operands, size_t k) {
  return k + 1 < operands.size() && operands[k].form == OperandForm::kRepeatString &&
         operands[k + 1].form == OperandForm::kRepeatString && operands[k + 1].instruction == operands[k].instruction;
}

// Forms of one operand in one area, of which several parts or none may be referred to.
inline bool is_one_area(const Operand& o) { return o.form == OperandForm::kMasked || o.form == OperandForm::kXsave; }

// Everything that expanding needs besides the words.
struct ReferenceContext {
  SegmentBases bases;
  std::span<const XsaveComponent> xsave;
};

// Calls emit(OperandKind, address, bytes) for each reference of operands[k] (and of its partner, when they are a pair), in
// program order. Returns the iterations of a repeated string instruction, else 0.
template <class Emit>
uint64_t expand(std::span<const Operand> operands, size_t k, const uint64_t* words, const ReferenceContext& context,
                Emit&& emit) {
  const Operand& o = operands[k];
  const auto at = [&](const Operand& operand, uint64_t offset) {
    return address_at(operand, words, context.bases, offset);
  };
  const uint64_t index = o.form == OperandForm::kVectorIndex || o.form == OperandForm::kRegisters ? 0 : word_or_zero(words, o.word_b) << o.shift;
  switch (o.form) {
    case OperandForm::kAddress:
      emit(o.kind, at(o, plain_offset(o, words)), o.size);
      return 0;
    case OperandForm::kRepeatString: {
      const StringRun run = string_run(o, words);
      const size_t count = is_string_pair(operands, k) ? 2 : 1;
      for (uint64_t i = 0; i < run.iterations; ++i)
        for (size_t j = 0; j < count; ++j)
          emit(operands[k + j].kind, at(operands[k + j], i * static_cast<uint64_t>(run.step)), operands[k + j].size);
      return run.iterations;
    }
    case OperandForm::kVectorIndex: {
      const uint64_t mask = lane_mask(o, words);
      const auto* indices = reinterpret_cast<const char*>(words + o.word_b);
      for (uint32_t lane = 0; lane < o.lanes; ++lane) {
        if ((mask >> lane & 1) == 0) continue;
        int64_t wide = 0;
        int32_t narrow = 0;
        std::memcpy(&narrow, indices + lane * o.index_bytes, 4);
        if (o.index_bytes == 8) std::memcpy(&wide, indices + lane * 8, 8);
        emit(o.kind, at(o, static_cast<uint64_t>(o.index_bytes == 8 ? wide : narrow) << o.shift), o.size);
      }
      return 0;
    }
    case OperandForm::kMasked: {
      uint64_t mask = lane_mask(o, words);
      if (o.modifier == OperandModifier::kPacked) {
        const int active = std::popcount(mask);
        mask = active == 64 ? ~uint64_t{0} : (uint64_t{1} << active) - 1;
      }
      for (uint32_t lane = 0; lane < o.lanes;) {
        const uint32_t first = lane;
        while (lane < o.lanes && (mask >> lane & 1) != 0) ++lane;
        if (lane != first)
          emit(o.kind, at(o, index + uint64_t{first} * o.size), (lane - first) * o.size);
        else
          ++lane;
      }
      return 0;
    }
    case OperandForm::kXsave: {
      const uint64_t selected = (words[o.word_c] & 0xffffffff) | words[o.word_c + 1] << 32;
      emit(o.kind, at(o, index), kXsaveLegacyAndHeaderBytes);
      for (const XsaveComponent& c : context.xsave)
        if ((selected >> c.number & 1) != 0) emit(o.kind, at(o, index + c.offset), c.bytes);
      return 0;
    }
    case OperandForm::kTile: {
      const TileRows tile = tile_rows(words + o.word_c, o.lanes);
      for (uint32_t row = tile.first; row < tile.end; ++row) emit(o.kind, at(o, row * index), tile.bytes);
      return 0;
    }
    case OperandForm::kRegisters:
      return 0;
  }
  return 0;
}

// Calls emit(OperandKind, address, bytes) once, for is_one_area(): all lanes, or from the area's beginning to the end of the last component selected.
template <class Emit>
void whole_area(const Operand& o, const uint64_t* words, const ReferenceContext& context, Emit&& emit) {
  const uint64_t address = address_at(o, words, context.bases, word_or_zero(words, o.word_b) << o.shift);
  uint32_t bytes = o.lanes * o.size;
  if (o.form == OperandForm::kXsave) {
    const uint64_t selected = (words[o.word_c] & 0xffffffff) | words[o.word_c + 1] << 32;
    bytes = kXsaveLegacyAndHeaderBytes;
    for (const XsaveComponent& c : context.xsave)
      if ((selected >> c.number & 1) != 0) bytes = std::max(bytes, c.offset + c.bytes);
  }
  emit(o.kind, address, bytes);
}

}  // namespace simrun::traces
