// As decode_items.h, for files up to version 3.
#pragma once

#include "traces/decode_items.h"
#include "traces/prediction_3.h"

namespace simrun::traces::version_3 {

class ItemsDecoder {
 public:
  void read_columns(ByteReader& from) {
    for (ByteReader* column : {&path_runs_, &path_codes_, &path_ids_, &word_runs_, &word_codes_, &word_residues_})
      *column = from.column();
  }

  void start(const KnownShapes& known, uint64_t*, uint64_t* end) {
    known_ = known;
    end_ = end;
    paths_.reset(known.path_count);
    words_.reset(known.slot_count);
    path_run_ = next_run(path_runs_);
    word_run_ = next_run(word_runs_);
  }

  uint64_t* paths(uint64_t count, uint64_t* at) {
    for (; count != 0; --count) {
      const uint32_t id = next_path();
      const PathShape shape = known_.paths[id];
      require(static_cast<uint64_t>(end_ - at) > shape.words, "more words than announced");
      require(shape.first_slot + shape.words <= known_.slot_count, "an address word that does not exist");
      *at++ = id;
      instructions_ += shape.instructions;
      for (uint32_t k = shape.first_slot; k != shape.first_slot + shape.words; ++k) *at++ = word(k);
    }
    return at;
  }

  void end() const {
    for (const ByteReader* column : {&path_codes_, &path_ids_, &word_codes_, &word_residues_})
      require(column->empty(), "a column is longer than what it describes");
  }
  uint64_t instructions() const { return instructions_; }

 private:
  uint32_t next_path() {
    uint32_t id = paths_.first();
    if (path_run_ == 0) {
      id = missed_path();
      path_run_ = next_run(path_runs_);
    } else {
      --path_run_;
    }
    require(id >= kFirstPath && id < known_.path_count, "a path that does not exist");
    paths_.learn(id);
    return id;
  }

  uint32_t missed_path() {
    if (path_codes_.byte() == 0) return paths_.second();
    const auto id = static_cast<uint64_t>(last_miss_) + static_cast<uint64_t>(path_ids_.signed_varint());
    require(id < known_.path_count, "a path that does not exist");
    last_miss_ = static_cast<int64_t>(id);
    return static_cast<uint32_t>(id);
  }

  uint64_t word(uint32_t index) {
    WordPredictor::Slot& slot = words_.slot(index);
    uint64_t& register_value = words_.register_value(known_.registers[index]);
    bool prefer = WordPredictor::prefers_register(slot);
    uint64_t value = prefer ? WordPredictor::by_register(slot, register_value) : WordPredictor::by_stride(slot);
    if (word_run_ == 0) {
      value = missed_word(slot, register_value, prefer);
      word_run_ = next_run(word_runs_);
    } else {
      --word_run_;
    }
    WordPredictor::learn(slot, register_value, value, prefer);
    return value;
  }

  uint64_t missed_word(const WordPredictor::Slot& slot, uint64_t register_value, bool& prefer) {
    const uint8_t code = word_codes_.byte();
    require(code <= 16, "unknown code of a word");
    if (code == 0) {
      prefer = !prefer;
      return prefer ? WordPredictor::by_register(slot, register_value) : WordPredictor::by_stride(slot);
    }
    const uint64_t base = code > 8 ? register_value : slot.last;
    return base + static_cast<uint64_t>(unzigzag(word_residues_.low_bytes((code - 1u) % 8 + 1)));
  }

  KnownShapes known_;
  PathPredictor paths_{0};
  WordPredictor words_{0};
  uint64_t path_run_ = kNoRun, word_run_ = kNoRun, instructions_ = 0;
  int64_t last_miss_ = 0;
  uint64_t* end_ = nullptr;
  ByteReader path_runs_{{}}, path_codes_{{}}, path_ids_{{}}, word_runs_{{}}, word_codes_{{}}, word_residues_{{}};
};

}  // namespace simrun::traces::version_3
