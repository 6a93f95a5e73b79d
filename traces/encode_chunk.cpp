#include <cstring>
#include <memory>
#include <vector>

#include "base/check.h"
#include "traces/chunk_codec.h"
#include "traces/prediction.h"
#include "traces/word_policy.h"

namespace simrun::traces {

namespace {

// A column whose place was made before, and is used again for the next part. What is not written of it costs nothing.
class Column {
 public:
  // Empty, with room for so many bytes and the up to 16 that one write may touch behind them.
  void start(size_t bytes) {
    if (bytes + kSlack > capacity_) {
      capacity_ = bytes + bytes / 4 + kSlack;
      data_ = std::make_unique_for_overwrite<uint8_t[]>(capacity_);
    }
    at_ = data_.get();
  }
  void byte(uint8_t value) { *at_++ = value; }
  void varint(uint64_t value) {
    uint8_t* at = at_;
    for (; value >= 0x80; value >>= 7) *at++ = static_cast<uint8_t>(value | 0x80);
    *at++ = static_cast<uint8_t>(value);
    at_ = at;
  }
  // Eight are stored, and the next write goes over what is too much.
  void low_bytes(uint64_t value, uint32_t count) {
    uint8_t* const at = at_;
    std::memcpy(at, &value, 8);
    at_ = at + count;
  }
  std::span<const uint8_t> bytes() const { return {data_.get(), static_cast<size_t>(at_ - data_.get())}; }

 private:
  static constexpr size_t kSlack = 16;
  std::unique_ptr<uint8_t[]> data_;
  size_t capacity_ = 0;
  uint8_t* at_ = nullptr;
};

}  // namespace

// The columns of one thread at a time. Each kind of data by itself: zstd finds more in them so.
//
// What is read and written with each word are local variables of encode(), and what is rare (a wrong prediction) is
// done in functions of its own, so that they stay in registers (bench/traces).
class ChunkEncoder::Part {
 public:
  void write(const ThreadPart& part, const PathShapes& shapes, Bytes& out) {
    start(part, shapes);
    if (words_.are_shared())
      encode<true>(part, shapes);
    else
      encode<false>(part, shapes);
    ByteWriter head;
    head.varint(part.thread);
    head.varint(part.process);
    head.varint(part.tid);
    head.varint(part.fs);
    head.varint(part.gs);
    head.varint(part.first_instruction);
    head.varint(path_count_);
    head.varint(event_count_);
    head.varint(part.words.size());
    head.varint(shapes.path_count);
    head.varint(shapes.slot_count);
    append(out, head.bytes());
    for (const Column* column : {&path_runs_, &path_codes_, &path_ids_, &word_runs_, &word_codes_, &word_values_})
      append_column(out, column->bytes());
    for (const uint32_t width : kWidths) append_column(out, residues_[width].bytes());
    append_column(out, events_.bytes());
  }

 private:
  static void append(Bytes& out, std::span<const uint8_t> bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }
  static void append_column(Bytes& out, std::span<const uint8_t> bytes) {
    ByteWriter size;
    size.varint(bytes.size());
    append(out, size.bytes());
    append(out, bytes);
  }

  // Bounds of the columns: a run takes a byte, and one more for each 128 that it says; a difference of path ids 5, of
  // words 8.
  void start(const ThreadPart& part, const PathShapes& shapes) {
    const size_t most = part.words.size();
    path_runs_.start(2 * most + 16);
    path_codes_.start(most);
    path_ids_.start(5 * most);
    word_runs_.start(2 * most + 16);
    word_codes_.start(most);
    word_values_.start(8 * most);
    for (const uint32_t width : kWidths) residues_[width].start(width * most);
    events_ = ByteWriter();
    event_count_ = 0;
    paths_before_run_ = paths_before_event_ = 0;
    last_miss_ = 0;
    last_exception_ = part.words.data();
    paths_.reset(shapes.path_count);
    words_.reset(shapes.slot_count, shapes.registers.get());
    policies_.assign(words_.mask() + 1, WordPolicy());
  }

  // `kShared`: several words may have one slot.
  template <bool kShared>
  void encode(const ThreadPart& part, const PathShapes& shapes) {
    PathPredictor::Past past;
    const uint64_t* at = part.words.data();
    const uint64_t* const end = at + part.words.size();
    const PathShape* const path_shapes = shapes.paths.get();
    WordSlot* const slots = words_.slots();
    uint64_t* const registers = words_.registers();
    uint64_t path_count = 0;
    while (at != end) {
      const auto id = static_cast<uint32_t>(*at);
      if (id < kFirstPath) [[unlikely]] {
        at = event(at, path_count);
        continue;
      }
      if (paths_.first(past) != id) [[unlikely]]
        missed_path(past, id, path_count);
      ++path_count;
      paths_.follow(past, id);
      const PathShape shape = path_shapes[id];
      ++at;
      if constexpr (kShared) {
        for (uint32_t k = shape.first_slot; k != shape.first_slot + shape.words; ++k)
          word(slots[k & words_.mask()], registers[shapes.registers[k]], at++);
      } else {
        WordSlot* slot = slots + shape.first_slot;
        for (const WordSlot* const last = slot + shape.words; slot != last; ++slot)
          word(*slot, registers[slot->in_register], at++);
      }
    }
    path_count_ = path_count;
    CHECK(path_count_ + event_count_ == part.items);
  }

  [[gnu::always_inline]] void word(WordSlot& slot, uint64_t& register_value, const uint64_t* at) {
    const uint64_t value = *at;
    const uint64_t difference = value - slot.step - *slot.base;
    if ((difference | slot.width) != 0) {
      WordPolicy& policy = policies_[static_cast<size_t>(&slot - words_.slots())];
      const uint64_t coded = zigzag(static_cast<int64_t>(difference));
      const uint64_t other = value - (slot.base == &slot.last ? register_value : slot.last);
      if (policy.plain_residue(slot.width, coded, difference, other)) [[likely]]
        residues_[slot.width].low_bytes(coded, slot.width);
      else
        missed_word(slot, register_value, difference, at);
    }
    slot.last = value;
    register_value = value;
  }

  // `before`: paths of the part.
  [[gnu::noinline]] void missed_path(PathPredictor::Past past, uint32_t id, uint64_t before) {
    path_runs_.varint(before - paths_before_run_);
    paths_before_run_ = before + 1;
    const bool second = paths_.second(past) == id;
    path_codes_.byte(second ? 0 : 1);
    if (!second) {
      path_ids_.varint(zigzag(static_cast<int64_t>(id) - last_miss_));
      last_miss_ = id;
    }
    paths_.learn_miss(past, id);
  }

  // The prediction is wrong, or residues are given with each word.
  [[gnu::noinline]] void missed_word(WordSlot& slot, const uint64_t& register_value, uint64_t difference,
                                     const uint64_t* at) {
    const uint32_t width = slot.width;
    const uint64_t residue = zigzag(static_cast<int64_t>(difference));
    const uint32_t bytes = bytes_of(residue);
    WordPolicy& policy = policies_[static_cast<size_t>(&slot - words_.slots())];
    if (bytes <= width) [[likely]] {
      const uint64_t other = *at - (slot.base == &slot.last ? register_value : slot.last);
      if (!policy.residue(difference, other, width_for(bytes) < width)) [[likely]] {
        residues_[width].low_bytes(residue, width);
        return;
      }
    }
    exception(slot, policy, register_value, at);
  }

  void exception(WordSlot& slot, WordPolicy& policy, const uint64_t& register_value, const uint64_t* at) {
    const WordPolicy::Choice choice = policy.choose(slot, *at, register_value);
    const uint64_t* const from = choice.from_register ? &register_value : &slot.last;
    const uint64_t difference = *at - *from;
    const uint64_t coded = zigzag(static_cast<int64_t>(difference));
    const uint32_t bytes = bytes_of(coded);
    word_runs_.varint(static_cast<uint64_t>(at - last_exception_));
    last_exception_ = at;
    word_codes_.byte(static_cast<uint8_t>((bytes - 1) | (choice.from_register ? kFromRegister : 0) |
                                          static_cast<uint32_t>(choice.action) << kActionShift));
    word_values_.low_bytes(coded, bytes);
    act(slot, choice.action, from, difference, bytes);
  }

  // Paths since the last event, the event, its payload. `before`: paths of the part.
  const uint64_t* event(const uint64_t* at, uint64_t before) {
    ++event_count_;
    const uint64_t payload = *at >> 32;
    events_.varint(before - paths_before_event_);
    paths_before_event_ = before;
    events_.varint(static_cast<uint32_t>(*at));
    events_.varint(payload);
    for (uint64_t k = 0; k < payload; ++k) events_.varint(at[1 + k]);
    return at + 1 + payload;
  }

  PathPredictor paths_;
  WordSlots words_;
  std::vector<WordPolicy> policies_;  // by slot
  uint64_t path_count_ = 0, event_count_ = 0;
  uint64_t paths_before_run_ = 0, paths_before_event_ = 0;
  int64_t last_miss_ = 0;
  const uint64_t* last_exception_ = nullptr;
  Column path_runs_, path_codes_, path_ids_, word_runs_, word_codes_, word_values_;
  Column residues_[kMostWidth + 1];  // by their bytes
  ByteWriter events_;
};

ChunkEncoder::ChunkEncoder() : part_(std::make_unique<Part>()) {}
ChunkEncoder::~ChunkEncoder() = default;

const Bytes& ChunkEncoder::encode(const Chunk& chunk, const ShapesOf& shapes) {
  ByteWriter head;
  head.varint(chunk.threads.size());
  out_ = head.bytes();
  for (const ThreadPart& part : chunk.threads) {
    const PathShapes s = shapes(part.process);
    part_->write(part, s, out_);
  }
  ByteWriter turns;
  turns.varint(chunk.turns.size());
  for (const Turn& turn : chunk.turns) {
    turns.varint(turn.part);
    turns.varint(turn.items);
  }
  out_.insert(out_.end(), turns.bytes().begin(), turns.bytes().end());
  return out_;
}

}  // namespace simrun::traces
