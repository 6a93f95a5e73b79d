#include "traces/chunk_codec.h"
#include "traces/decode_items.h"
#include "traces/decode_items_3.h"
#include "traces/huge_pages.h"

namespace simrun::traces {

namespace {

// `Items`: the columns of paths and their words, of one version.
template <class Items>
class PartDecoder {
 public:
  PartDecoder(ByteReader& from, const ShapesOf& shapes)
      : thread_(static_cast<uint32_t>(from.varint_up_to(kMaxThreadsInTrace, "the number of a thread"))),
        process_(static_cast<uint32_t>(from.varint_up_to(kMaxProcesses, "the number of a process"))),
        shapes_(shapes(process_)) {
    part_.thread = thread_;
    part_.process = process_;
    part_.tid = static_cast<uint32_t>(from.varint_up_to(~uint32_t{0}, "a thread id"));
    part_.fs = from.varint();
    part_.gs = from.varint();
    part_.first_instruction = from.varint();
    path_count_ = from.varint_up_to(kMaxChunkWords, "number of paths");
    event_count_ = from.varint_up_to(kMaxChunkWords, "number of events");
    word_count_ = from.varint_up_to(kMaxChunkWords, "number of words");
    known_paths_ = static_cast<uint32_t>(from.varint_up_to(shapes_.path_count, "number of known paths"));
    known_slots_ = static_cast<uint32_t>(from.varint_up_to(shapes_.slot_count, "number of known address words"));
    items_.read_columns(from);
    events_ = from.column();
    require(path_count_ + event_count_ <= word_count_, "more items than words");
    part_.items = path_count_ + event_count_;
  }

  uint64_t words() const { return word_count_; }

  // `words`: whose memory is to be used.
  ThreadPart decode(std::vector<uint64_t> words) {
    if (words.capacity() >= word_count_) part_.words = std::move(words);
    part_.words.reserve(word_count_);
    prefer_huge_pages(part_.words.data(), word_count_ * sizeof(uint64_t));
    part_.words.resize(word_count_);
    at_ = part_.words.data();
    end_ = at_ + word_count_;
    items_.start({shapes_.paths.get(), shapes_.registers.get(), known_paths_, known_slots_}, at_, end_);
    uint64_t left = path_count_;
    for (uint64_t k = 0; k < event_count_; ++k) {
      const uint64_t before = events_.varint_up_to(left, "paths before an event");
      at_ = items_.paths(before, at_);
      left -= before;
      event();
    }
    at_ = items_.paths(left, at_);
    require(at_ == end_, "fewer words than announced");
    items_.end();
    require(events_.empty(), "a column is longer than what it describes");
    part_.instructions += items_.instructions();
    return std::move(part_);
  }

 private:
  void event() {
    const uint64_t id = events_.varint_up_to(kFirstPath - 1, "the number of an event");
    const uint64_t payload = events_.varint_up_to(kMaxChunkWords, "the size of an event");
    require(static_cast<uint64_t>(end_ - at_) > payload, "more words than announced");
    *at_++ = id | payload << 32;
    const uint64_t* const words = at_;
    for (uint64_t k = 0; k < payload; ++k) *at_++ = events_.varint();
    if (id == static_cast<uint32_t>(Event::kCut)) cut(words, payload);
  }

  // A superblock that a fault cut short: the instructions that retired, fewer than all.
  void cut(const uint64_t* words, uint64_t payload) {
    require(payload >= 3, "a cut of fewer than 3 words");
    require(words[0] >= kFirstPath && words[0] < known_paths_, "a cut of a path that does not exist");
    require(words[1] <= 0xffff, "instructions of a cut");
    part_.instructions += words[1];
  }

  uint32_t thread_, process_;
  PathShapes shapes_;
  ThreadPart part_;
  uint64_t path_count_, event_count_, word_count_;
  uint32_t known_paths_, known_slots_;
  uint64_t* at_ = nullptr;
  uint64_t* end_ = nullptr;
  Items items_;
  ByteReader events_{{}};
};

void read_turns(ByteReader& from, Chunk& chunk) {
  const uint64_t turns = from.varint_up_to(kMaxChunkWords, "number of turns");
  std::vector<uint64_t> left;
  for (const ThreadPart& part : chunk.threads) left.push_back(part.items);
  for (uint64_t k = 0; k < turns; ++k) {
    const uint64_t part = from.varint();
    require(part < left.size(), "a turn of a thread that is not in the chunk");
    const uint64_t items = from.varint_up_to(left[part], "items of a turn");
    left[part] -= items;
    chunk.turns.push_back({static_cast<uint32_t>(part), static_cast<uint32_t>(items)});
  }
  for (uint64_t rest : left) require(rest == 0, "items that have no turn");
}

template <class Items>
Chunk decode(std::span<const uint8_t> bytes, const ShapesOf& shapes, Chunk used) {
  ByteReader from(bytes);
  Chunk chunk;
  const uint64_t parts = from.varint_up_to(kMaxThreadsInTrace, "number of threads");
  uint64_t words = 0;
  for (uint64_t k = 0; k < parts; ++k) {
    PartDecoder<Items> part(from, shapes);
    words += part.words();
    require(words <= kMaxChunkWords, "more words than a chunk may hold");
    chunk.threads.push_back(part.decode(k < used.threads.size() ? std::move(used.threads[k].words) : std::vector<uint64_t>()));
    chunk.instructions += chunk.threads.back().instructions;
  }
  read_turns(from, chunk);
  require(from.empty(), "bytes behind the end of the chunk");
  return chunk;
}

}  // namespace

Chunk decode_chunk(std::span<const uint8_t> bytes, const ShapesOf& shapes, Chunk used) {
  return decode<ItemsDecoder>(bytes, shapes, std::move(used));
}

Chunk decode_chunk_3(std::span<const uint8_t> bytes, const ShapesOf& shapes, Chunk used) {
  return decode<version_3::ItemsDecoder>(bytes, shapes, std::move(used));
}

}  // namespace simrun::traces
