// Operands that are not one plain sum, expanded into references as the comments of instr/border/descriptors.h define
// them: segment bases and 32-bit addresses, repeated strings, gathers and scatters, masked vectors, xsave areas, tiles. The
// words they read were checked by DecodedPaths.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/tile_configuration.h"
#include "instr/border/descriptors.h"
#include "instr/channel/decoded_paths.h"
#include "instr/channel/stream_error.h"
#include "instr/channel/xsave_layout.h"

namespace simrun::channel {

// The bases that the application set for its segments; changed by events in the stream.
struct SegmentBases {
  uint64_t fs = 0;
  uint64_t gs = 0;
};

// Bytes of one repeated string instruction beyond which the words are taken for garbage (a loop over them would never
// end).
inline constexpr uint64_t kMaxStringBytes = uint64_t{1} << 42;

// Where an operand's addresses come from in one execution.
class OperandAddress {
 public:
  OperandAddress(const border::OperandDescriptor& o, const uint64_t* words, const SegmentBases& bases)
      : narrow_((o.flags & border::kAddress32) != 0),
        segment_((o.flags & border::kFsBase) != 0   ? bases.fs
                 : (o.flags & border::kGsBase) != 0 ? bases.gs
                                                    : 0),
        base_(word_or_zero(words, o.word_a) + static_cast<uint64_t>(o.disp)) {}

  // Effective address base + `offset`, truncated if the instruction says so, plus the segment's base.
  uint64_t at(uint64_t offset) const {
    const uint64_t effective = base_ + offset;
    return (narrow_ ? effective & 0xffffffff : effective) + segment_;
  }
  static uint64_t word_or_zero(const uint64_t* words, uint16_t index) {
    return index == border::kNoWord ? 0 : words[index];
  }

 private:
  bool narrow_;
  uint64_t segment_;
  uint64_t base_;
};

// Displacement of one plain address beyond its base: the scaled index, or what the modifier makes of it.
inline uint64_t address_offset(const border::OperandDescriptor& o, const uint64_t* words) {
  const uint64_t index = OperandAddress::word_or_zero(words, o.word_b);
  if (o.modifier == border::OperandModifier::kByteIndex) return index & 0xff;
  uint64_t offset = index << o.shift;
  if (o.modifier == border::OperandModifier::kBitOffset) {
    // Bit offset as a signed number of the operand's size; the operand that holds that bit (Intel SDM vol. 2, BT).
    const int unused = 64 - static_cast<int>(8 * o.size);
    const int64_t bits = static_cast<int64_t>(words[o.word_c] << unused) >> unused;
    offset += static_cast<uint64_t>((bits >> (std::countr_zero(o.size) + 3)) * static_cast<int64_t>(o.size));
  }
  return offset;
}

// Iterations of a repeated string instruction and the distance between them (bytes, negative downwards).
struct StringRun {
  uint64_t iterations;
  int64_t step;
};

inline StringRun string_run(const border::OperandDescriptor& o, const uint64_t* words) {
  int64_t moved = static_cast<int64_t>(words[o.word_c] - words[o.word_b]);
  if ((o.flags & border::kAddress32) != 0) moved = static_cast<int32_t>(moved);
  const uint64_t bytes = moved < 0 ? 0 - static_cast<uint64_t>(moved) : static_cast<uint64_t>(moved);
  if (bytes > kMaxStringBytes) throw StreamError("a repeated string instruction of more than 4 TiB");
  return {bytes / o.size, moved < 0 ? -static_cast<int64_t>(o.size) : static_cast<int64_t>(o.size)};
}

// The same of one that a fault interrupted, of which an event says how many iterations it had done (negative: downwards).
inline StringRun begun_string(const border::OperandDescriptor& o, uint64_t iterations) {
  const auto signed_count = static_cast<int64_t>(iterations);
  const uint64_t count = signed_count < 0 ? 0 - iterations : iterations;
  if (count > kMaxStringBytes / o.size) throw StreamError("a cut string instruction of more than 4 TiB");
  return {count, signed_count < 0 ? -static_cast<int64_t>(o.size) : static_cast<int64_t>(o.size)};
}

// `operands`: one, or the two of a movs or cmps, whose references alternate. Calls emit(OperandKind, address, bytes).
template <class Emit>
void expand_string(std::span<const border::OperandDescriptor* const> operands, StringRun run, const uint64_t* words,
                   const SegmentBases& bases, Emit&& emit) {
  for (uint64_t i = 0; i < run.iterations; ++i)
    for (const border::OperandDescriptor* o : operands)
      emit(o->kind, OperandAddress(*o, words, bases).at(i * static_cast<uint64_t>(run.step)), o->size);
}

// Bit i: lane i is active.
inline uint64_t lane_mask(const border::OperandDescriptor& o, const uint64_t* words) {
  const uint64_t all = o.lanes >= 64 ? ~uint64_t{0} : (uint64_t{1} << o.lanes) - 1;
  if (o.mask_lane == 0) return words[o.word_c] & all;
  const auto* bytes =
      reinterpret_cast<const unsigned char*>(words + o.word_c);  // little-endian, as the vector register
  uint64_t mask = 0;
  for (uint32_t lane = 0; lane < o.lanes; ++lane) mask |= uint64_t{bytes[(lane + 1) * o.mask_lane - 1]} >> 7 << lane;
  return mask;
}

template <class Emit>
void expand_vector_index(const border::OperandDescriptor& o, const uint64_t* words, const SegmentBases& bases,
                         Emit&& emit) {
  const uint64_t mask = lane_mask(o, words);
  const auto* indices = reinterpret_cast<const char*>(words + o.word_b);
  const OperandAddress address(o, words, bases);
  for (uint32_t lane = 0; lane < o.lanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    int64_t index = 0;
    if (o.index_bytes == 8) {
      std::memcpy(&index, indices + lane * 8, 8);
    } else {
      int32_t narrow;
      std::memcpy(&narrow, indices + lane * 4, 4);
      index = narrow;
    }
    emit(o.kind, address.at(static_cast<uint64_t>(index) << o.shift), o.size);
  }
}

// Each run of neighbouring active lanes is one reference: a full mask is one access, as the processor makes it.
template <class Emit>
void expand_masked(const border::OperandDescriptor& o, const uint64_t* words, const SegmentBases& bases, Emit&& emit) {
  uint64_t mask = lane_mask(o, words);
  if (o.modifier == border::OperandModifier::kPacked) {
    const int active = std::popcount(mask);
    mask = active == 64 ? ~uint64_t{0} : (uint64_t{1} << active) - 1;
  }
  const OperandAddress address(o, words, bases);
  const uint64_t index = OperandAddress::word_or_zero(words, o.word_b) << o.shift;
  for (uint32_t lane = 0; lane < o.lanes;) {
    if ((mask >> lane & 1) == 0) {
      ++lane;
      continue;
    }
    const uint32_t first = lane;
    while (lane < o.lanes && (mask >> lane & 1) != 0) ++lane;
    emit(o.kind, address.at(index + uint64_t{first} * o.size), (lane - first) * o.size);
  }
}

// Legacy region and header as one reference, then one per selected component, at its place in the standard format.
template <class Emit>
void expand_xsave(const border::OperandDescriptor& o, const uint64_t* words, const SegmentBases& bases, Emit&& emit) {
  const uint64_t selected = (words[o.word_c] & 0xffffffff) | words[o.word_c + 1] << 32;
  const OperandAddress address(o, words, bases);
  const uint64_t index = OperandAddress::word_or_zero(words, o.word_b) << o.shift;
  emit(o.kind, address.at(index), kXsaveLegacyAndHeaderBytes);
  for (const XsaveComponent& component : xsave_components())
    if ((selected >> component.number & 1) != 0) emit(o.kind, address.at(index + component.offset), component.bytes);
}

// A row is one reference. Those before the configuration's first row were done before a fault, whose execution is not counted (Intel SDM vol. 2,
// TILELOADD).
template <class Emit>
void expand_tile(const border::OperandDescriptor& o, const uint64_t* words, const SegmentBases& bases, Emit&& emit) {
  const TileRows tile = tile_rows(words + o.word_c, o.lanes);
  const OperandAddress address(o, words, bases);
  const uint64_t stride = OperandAddress::word_or_zero(words, o.word_b) << o.shift;
  for (uint32_t row = tile.first; row < tile.end; ++row) emit(o.kind, address.at(row * stride), tile.bytes);
}

// Returns the iterations of a repeated string instruction, else 0.
template <class Emit>
uint64_t expand_special(const SpecialOperand* special, const uint64_t* words, const SegmentBases& bases, Emit&& emit) {
  const border::OperandDescriptor& o = special->operand;
  switch (o.form) {
    case border::OperandForm::kAddress:
      emit(o.kind, OperandAddress(o, words, bases).at(address_offset(o, words)), o.size);
      return 0;
    case border::OperandForm::kRepeatString: {
      const border::OperandDescriptor* pair[] = {&o, &special[special->interleaved].operand};
      const StringRun run = string_run(o, words);
      expand_string(std::span(pair, 1 + special->interleaved), run, words, bases, emit);
      return run.iterations;
    }
    case border::OperandForm::kVectorIndex:
      expand_vector_index(o, words, bases, emit);
      return 0;
    case border::OperandForm::kMasked:
      expand_masked(o, words, bases, emit);
      return 0;
    case border::OperandForm::kXsave:
      expand_xsave(o, words, bases, emit);
      return 0;
    case border::OperandForm::kTile:
      expand_tile(o, words, bases, emit);
      return 0;
    case border::OperandForm::kRegisters:
      return 0;  // never special
  }
  return 0;
}

}  // namespace simrun::channel
