// The paths of one part of a chunk and their words, back from their columns. A part of decode_chunk.cpp.
#pragma once

#include "traces/bytes.h"
#include "traces/descriptor_table.h"
#include "traces/prediction.h"

namespace simrun::traces {

// The shapes of the paths that the part may have.
struct KnownShapes {
  const PathShape* paths = nullptr;
  const uint8_t* registers = nullptr;
  uint32_t path_count = 0, slot_count = 0;
};

// The rest of a column of runs: how many right predictions come before the next wrong one. Behind the last, all are
// right.
inline constexpr uint64_t kNoRun = ~uint64_t{0};
inline uint64_t next_run(ByteReader& runs) { return runs.empty() ? kNoRun : runs.varint(); }

class ItemsDecoder {
 public:
  void read_columns(ByteReader& from) {
    for (ByteReader* column : {&path_runs_, &path_codes_, &path_ids_, &word_runs_, &word_codes_, &word_values_})
      *column = from.column();
    for (const uint32_t width : kWidths) residues_[width] = from.column();
  }

  // What is decoded goes to `at` and on to `end`, events between it.
  void start(const KnownShapes& known, uint64_t* at, uint64_t* end) {
    known_ = known;
    last_exception_ = at;
    end_ = end;
    paths_.reset(known.path_count);
    words_.reset(known.slot_count, known.registers);
    path_run_ = next_run(path_runs_);
    find_exception();
  }

  // So many paths. Returns the end of their words.
  uint64_t* paths(uint64_t count, uint64_t* at) {
    WordSlot* const slots = words_.slots();
    uint64_t* const registers = words_.registers();
    const uint32_t mask = words_.mask();
    for (; count != 0; --count) {
      const uint32_t id = next_path();
      const PathShape shape = known_.paths[id];
      require(static_cast<uint64_t>(end_ - at) > shape.words, "more words than announced");
      require(shape.first_slot + shape.words <= known_.slot_count, "an address word that does not exist");
      *at++ = id;
      instructions_ += shape.instructions;
      for (uint32_t k = shape.first_slot; k != shape.first_slot + shape.words; ++k, ++at) {
        WordSlot& slot = slots[k & mask];
        uint64_t& register_value = registers[known_.registers[k]];
        uint64_t value = *slot.base + slot.step;
        if (at == exception_) [[unlikely]]
          value = exception(slot, register_value);
        else if (slot.width != 0)
          value += static_cast<uint64_t>(unzigzag(residues_[slot.width].low_bytes(slot.width)));
        *at = slot.last = register_value = value;
      }
    }
    return at;
  }

  void end() const {
    for (const ByteReader* column : {&path_codes_, &path_ids_, &word_codes_, &word_values_})
      require(column->empty(), "a column is longer than what it describes");
    for (const uint32_t width : kWidths) require(residues_[width].empty(), "more residues than words have");
  }
  uint64_t instructions() const { return instructions_; }

 private:
  uint32_t next_path() {
    uint32_t id = paths_.first(past_);
    if (path_run_ == 0) [[unlikely]] {
      id = missed_path();
      path_run_ = next_run(path_runs_);
    } else {
      --path_run_;
    }
    require(id >= kFirstPath && id < known_.path_count, "a path that does not exist");
    paths_.follow(past_, id);
    return id;
  }

  [[gnu::noinline]] uint32_t missed_path() {
    uint64_t id = paths_.second(past_);
    if (path_codes_.byte() != 0) {
      id = static_cast<uint64_t>(last_miss_) + static_cast<uint64_t>(path_ids_.signed_varint());
      require(id < known_.path_count, "a path that does not exist");
      last_miss_ = static_cast<int64_t>(id);
    }
    paths_.learn_miss(past_, static_cast<uint32_t>(id));
    return static_cast<uint32_t>(id);
  }

  [[gnu::noinline]] uint64_t exception(WordSlot& slot, const uint64_t& register_value) {
    const uint32_t code = word_codes_.byte();
    const auto action = static_cast<WordAction>(code >> kActionShift);
    require(action <= WordAction::kResidues, "unknown code of a word");
    const uint64_t* const from = (code & kFromRegister) != 0 ? &register_value : &slot.last;
    const uint32_t bytes = code % 8 + 1;
    const auto difference = static_cast<uint64_t>(unzigzag(word_values_.low_bytes(bytes)));
    const uint64_t value = *from + difference;
    act(slot, action, from, difference, bytes);
    last_exception_ = exception_;
    find_exception();
    return value;
  }

  // One that would be behind the end is none: then its code is left over.
  void find_exception() {
    const uint64_t run = next_run(word_runs_);
    exception_ = run < static_cast<uint64_t>(end_ - last_exception_) ? last_exception_ + run : end_;
  }

  KnownShapes known_;
  PathPredictor paths_;
  PathPredictor::Past past_;
  WordSlots words_;
  uint64_t path_run_ = kNoRun, instructions_ = 0;
  int64_t last_miss_ = 0;
  uint64_t* exception_ = nullptr;
  uint64_t* last_exception_ = nullptr;
  uint64_t* end_ = nullptr;
  ByteReader path_runs_{{}}, path_codes_{{}}, path_ids_{{}}, word_runs_{{}}, word_codes_{{}}, word_values_{{}};
  ByteReader residues_[kMostWidth + 1] = {ByteReader({}), ByteReader({}), ByteReader({}),
                                          ByteReader({}), ByteReader({}), ByteReader({}),
                                          ByteReader({}), ByteReader({}), ByteReader({})};
};

}  // namespace simrun::traces
